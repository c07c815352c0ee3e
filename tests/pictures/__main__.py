import sys

from tests.pictures import drawn

for name in drawn.FIGURES:
    if "--write" in sys.argv[1:]:
        drawn.store(name)
    apart = drawn.distance(drawn.pixels(drawn.FIGURES[name]()), drawn.stored(name))
    print(f"{name}: {apart:.2f} of {drawn.TOLERANCE}")
