"""Public figures beside stored pictures of them.

python -m tests.pictures            says which differ
python -m tests.pictures --write    draws them anew; look at each before it is stored
"""
