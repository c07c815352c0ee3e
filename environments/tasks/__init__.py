"""Tasks: poses and reaching, and the library of MyoSuite's."""
