"""The data of code outside this package: all that its functions and classes can read, as a digest."""

from myoquat.core.user_code.state import CodeState, code_state

__all__ = ["CodeState", "code_state"]
