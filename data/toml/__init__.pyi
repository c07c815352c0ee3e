from .models import model_text as model_text, parse_model as parse_model, read_model as read_model
