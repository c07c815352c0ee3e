"""The state of code outside this package: a digest of everything that its functions and classes can read.

The digest comes from a walk over these objects:

- functions: their code, defaults, closures, and the globals that they name, attributes of modules included
- classes: all members, of all bases
- instances and data

The package itself and the libraries in `_LIBRARIES` count as constant. An unknown object makes the state incomplete: an
object of another library, a file, a random generator, or a function that reaches names by text. The digest then does
not say all, and the caller must trace.
"""

import builtins
import hashlib
import struct
import sys
from collections import OrderedDict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass
from functools import cached_property, partial
from types import (
    BuiltinFunctionType,
    FunctionType,
    GetSetDescriptorType,
    MappingProxyType,
    MemberDescriptorType,
    MethodDescriptorType,
    MethodType,
    ModuleType,
    SimpleNamespace,
    WrapperDescriptorType,
)
from typing import Any

import numpy as np

from myoquat.core.user_code.names import names_of

__all__ = ["CodeState", "code_state"]

_OWN = "myoquat"
_FORMULA_PACKAGES = ("core", "kernels", "joints", "muscle", "dynamics")  # which read no files
_FORMULA_MODULES = ("environments.task", "environments.situation")
_OWN_FORMULAS = tuple(f"{_OWN}.{name}" for name in (*_FORMULA_PACKAGES, *_FORMULA_MODULES))
_LIBRARIES = {"abc", "builtins", "cmath", "collections", "dataclasses", "enum", "functools", "itertools", "math",
              "numbers", "numpy", "typing", "_abc"}  # fmt: skip
_OPAQUE_NAMES = {"load", "random", "geterr", "lib", "ctypeslib", "testing", "lru_cache", "cache", "vectorize",
                 "frompyfunc", "count", "cycle"}  # fmt: skip
_BUILTINS = {
    *("abs", "all", "any", "bool", "callable", "complex", "dict", "divmod", "enumerate", "filter", "float"),
    *("frozenset", "int", "isinstance", "issubclass", "iter", "len", "list", "map", "max", "min", "next", "object"),
    *("pow", "property", "range", "repr", "reversed", "round", "set", "slice", "sorted", "str", "sum", "super"),
    *("tuple", "type", "zip", "staticmethod", "classmethod", "print"),
}
_PLAIN_BASES = (tuple, list, dict, set, frozenset, str, bytes, int, float, complex)
_DESCRIPTORS = (GetSetDescriptorType, MemberDescriptorType, MethodDescriptorType, WrapperDescriptorType)
_SKIPPED = {  # of a class: what says nothing about what its methods compute
    *("__dict__", "__weakref__", "__doc__", "__module__", "__qualname__", "__annotations__", "__annotate__"),
    *("__annotate_func__", "__annotations_cache__", "__dataclass_params__", "__match_args__", "__abstractmethods__"),
    *("_abc_impl", "__parameters__", "__orig_bases__", "__firstlineno__", "__static_attributes__", "_is_protocol"),
}
_GENERATED = {"__init__", "__repr__", "__eq__", "__hash__", "__setattr__", "__delattr__", "__lt__", "__le__", "__gt__",
              "__ge__", "__replace__", "__getstate__", "__setstate__"}  # fmt: skip
MAX_OBJECTS = 100_000
MAX_SHOWN = 60  # characters of a value in a report


@dataclass(frozen=True)
class CodeState:
    """Result of a walk over code.

    digest    of all objects, the same in every process
    complete  whether the walk reached everything
    named     if asked for: values by name, such as "__main__.STIFFNESS", each as a number or as a digest
    unknown   objects that the walk could not look into
    """

    digest: str
    complete: bool
    named: Mapping[str, str]
    unknown: tuple[str, ...] = ()


def code_state(parts: Iterable[object], named: bool = False) -> CodeState:
    """The state of these functions, classes and instances as they are now."""
    walk = _Walk(thorough=named)
    try:
        content = walk.items(b"(", list(parts))
    except _Incomplete:
        content = b""
    found = {label: _shown(value) for label, value in walk.named.items()} if named else {}
    return CodeState(hashlib.sha256(content).hexdigest(), walk.complete, found, tuple(dict.fromkeys(walk.strange)))


def _shown(value: object) -> str:
    """Data as text if it is short, else a digest."""
    text = repr(value) if type(value) in (*_PLAIN, tuple) and type(value) is not bytes else ""
    if 0 < len(text) <= MAX_SHOWN:
        return text
    content = value if isinstance(value, bytes) else _Walk(thorough=True).encoded(value)
    return hashlib.sha256(content).hexdigest()[:12]


def _sized(cls: bytes, data: bytes) -> bytes:
    return b"%s%d:%s" % (cls, len(data), data)


def _top(module: object) -> str:
    return module.partition(".")[0] if isinstance(module, str) else ""


class _Incomplete(Exception):
    """The walk met an unknown object, and the rest is not needed."""


class _Walk:
    """One walk: every object is looked at once, and later named by its number. A thorough one goes on after objects
    that it does not know, up to MAX_OBJECTS."""

    def __init__(self, thorough: bool = False) -> None:
        self.complete = True
        self._thorough = thorough
        self.named: dict[str, object] = {}
        self.strange: list[str] = []
        self._seen: dict[int, int] = {}
        self._alive: list[object] = []  # so that no two objects share an identity

    # ---- data ------------------------------------------------------------------------------------------------

    def encoded(self, value: Any) -> bytes:
        """The bytes of a value."""
        cls = type(value)
        plain = _PLAIN.get(cls)
        if plain is not None:
            return plain(value)
        number = self._seen.get(id(value))
        if number is not None:
            return b"@%d;" % number
        if len(self._seen) >= MAX_OBJECTS:
            return self.unknown(value)
        self._seen[id(value)] = len(self._seen)
        self._alive.append(value)
        encode = _WALKED.get(cls)
        return encode(self, value) if encode is not None else self._other(value)

    def items(self, cls: bytes, values: Sequence[object]) -> bytes:
        """Values one after the other."""
        return b"%s%d:%s" % (cls, len(values), b"".join(map(self.encoded, values)))

    def mapping(self, values: Mapping[Any, Any]) -> bytes:
        """Keys and values in their order, on which a formula may depend."""
        return self.items(b"{", [x for pair in list(values.items()) for x in pair])

    def unordered(self, values: Iterable[object]) -> bytes:
        """The items of a set."""
        return _sized(b"<", b"".join(sorted(map(self.encoded, values))))

    def array(self, value: Any) -> bytes:
        """An array or number of NumPy."""
        if value.dtype.hasobject:
            return self.items(b"a", [value.shape, *np.asarray(value, dtype=object).flat])
        return _sized(b"A", f"{value.dtype.str} {value.shape} ".encode() + value.tobytes())

    def unknown(self, value: object) -> bytes:
        """Something that holds what cannot be seen."""
        cls = type(value)
        self._check(False, getattr(value, "__name__", "") or f"an object of {cls.__module__}.{cls.__qualname__}")
        return _sized(b"?", f"{cls.__module__}.{cls.__qualname__}".encode())

    def _check(self, known: bool, what: str) -> None:
        if known:
            return
        self.complete = False
        self.strange.append(what)
        if not self._thorough:
            raise _Incomplete

    def _other(self, value: Any) -> bytes:
        if isinstance(value, type):
            return self._class(value)
        if isinstance(value, (np.generic, np.dtype)):
            return self.array(value) if isinstance(value, np.generic) else _sized(b"T", value.str.encode())
        if isinstance(value, np.ufunc) or type(value) is type(np.sum):
            name: str = getattr(value, "__name__", "")
            module = sys.modules.get(getattr(value, "__module__", None) or "numpy", np)
            known = getattr(module, name, None) is value and name not in _OPAQUE_NAMES
            return _sized(b"u", name.encode()) if known else self.unknown(value)
        if isinstance(value, _DESCRIPTORS):
            return _sized(b"D", value.__name__.encode())
        return self._instance(value)

    # ---- functions -------------------------------------------------------------------------------------------

    def function(self, function: FunctionType) -> bytes:
        """A function of Python: that of this package and of libraries by name, with what it encloses."""
        if _is_named(function):
            constant = _is_formula(function.__module__) and function.__name__ not in _OPAQUE_NAMES
            return _sized(b"l", _label(function)) if constant else self.unknown(function)
        module = function.__globals__.get("__name__")
        name = f"{module}.{function.__qualname__}"
        held = [cell.cell_contents if _filled(cell) else None for cell in function.__closure__ or ()]
        if _top(module) == _OWN or _top(module) in _LIBRARIES:
            constant = _is_formula(module) and function.__name__ not in _OPAQUE_NAMES
            return _sized(b"l", name.encode()) + self.items(b"(", held) if constant else self.unknown(function)
        found = names_of(function.__code__)
        self._check(found.complete, name)
        self.named.setdefault(name, found.code)
        for variable, value in zip(function.__code__.co_freevars, held, strict=True):
            self.named.setdefault(f"{name}: {variable}", value)
        if function.__defaults__ or function.__kwdefaults__:
            defaults = (function.__defaults__ or (), *sorted((function.__kwdefaults__ or {}).items()))
            self.named.setdefault(f"{name}: defaults", defaults)
        own = [function.__defaults__, function.__kwdefaults__, held, function.__dict__]
        read = [self._global(function.__globals__, chain) for chain in found.chains]
        return _sized(b"F", found.code) + self.items(b"(", own) + b"".join(read)

    def _global(self, namespace: Mapping[str, Any], chain: tuple[str, ...]) -> bytes:
        """A global, or a builtin, by its name; of a module that attribute which is read from it."""
        name, *rest = chain
        if name not in namespace:
            known = name in _BUILTINS or isinstance(vars(builtins).get(name), type)
            self._check(known or not hasattr(builtins, name), name)
            return _sized(b"g", name.encode())
        label, value = f"{namespace.get('__name__')}.{name}", namespace[name]
        while isinstance(value, ModuleType) and rest:
            label, module, attribute = f"{value.__name__}.{rest[0]}", value, rest.pop(0)
            self._check(attribute not in _OPAQUE_NAMES or _top(module.__name__) not in _LIBRARIES, label)
            if attribute not in vars(module) and _top(module.__name__) != _OWN:
                self._check(False, label)  # made on demand by the module, or missing
                return _sized(b"g", label.encode())
            value = getattr(module, attribute)
        if not isinstance(value, (type, FunctionType, ModuleType)):
            self.named.setdefault(label, value)
        return _sized(b"g", label.encode()) + self.encoded(value)

    def builtin(self, value: Any) -> bytes:
        """A function in C: one of a known module or of Python itself."""
        module = value.__module__
        known = _top(module) in _LIBRARIES and (module != "builtins" or value.__name__ in _BUILTINS)
        known &= isinstance(value.__self__, (ModuleType, type(None))) and value.__name__ not in _OPAQUE_NAMES
        return _sized(b"b", f"{module}.{value.__name__}".encode()) if known else self.unknown(value)

    # ---- classes and instances -------------------------------------------------------------------------------

    def _class(self, cls: type) -> bytes:
        """A class with all members of its own and of its bases."""
        name = f"{cls.__module__}.{cls.__qualname__}"
        if _top(cls.__module__) == _OWN or _top(cls.__module__) in _LIBRARIES:
            known = _is_formula(cls.__module__) and "random" not in cls.__module__
            return _sized(b"C", name.encode()) if known else self.unknown(cls)
        parts = [_sized(b"c", name.encode()), self.encoded(type(cls)), self.items(b"(", cls.__mro__[1:])]
        for key, member in sorted(vars(cls).items()):
            if key not in _SKIPPED and not _is_generated(cls, key, member):
                if not isinstance(member, FunctionType):
                    self.named.setdefault(f"{name}.{key}", member)
                parts += [_sized(b"k", key.encode()), self.encoded(member)]
        return b"".join(parts)

    def field(self, value: Any) -> bytes:
        """A field of a dataclass."""
        return self.items(b"f", [value.name, value.default, value.default_factory, dict(value.metadata)])

    def _instance(self, value: Any) -> bytes:
        """An object of a class of Python: the class, its attributes, and its items if it is a container."""
        cls = type(value)
        bases = [base for base in cls.__mro__ if _top(base.__module__) in _LIBRARIES]
        plain = [base for base in bases if base in _PLAIN_BASES]
        strange = [base for base in bases if base is not object and base not in _PLAIN_BASES and not _is_abstract(base)]
        if cls in bases or strange or isinstance(value, (ModuleType, BaseException)):
            return self.unknown(value)
        parts = [self.encoded(cls), self.encoded(getattr(value, "__dict__", None))]
        slots = [name for base in cls.__mro__ for name in _slots(base)]
        parts += [self.encoded(getattr(value, name, None)) for name in slots]
        parts += [self.encoded(base(value) if base is not dict else dict(value.items())) for base in plain]
        return b"i" + b"".join(parts)


def _is_named(function: FunctionType) -> bool:
    """Whether a function of this package or of a library stands in its module, under its name."""
    module = sys.modules.get(function.__module__ or "")
    known = _top(function.__module__) == _OWN or _top(function.__module__) in _LIBRARIES
    return known and getattr(module, function.__qualname__, None) is function


def _label(function: FunctionType) -> bytes:
    return f"{function.__module__}.{function.__qualname__}".encode()


def _filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _is_formula(module: object) -> bool:
    """Whether functions of a module, of this package or of a library, read neither files nor settings."""
    return isinstance(module, str) and (_top(module) != _OWN or module.startswith(_OWN_FORMULAS))


def _is_generated(cls: type, key: str, member: object) -> bool:
    """Whether `dataclass` has written a method, from the fields alone."""
    if key not in _GENERATED or "__dataclass_fields__" not in vars(cls) or not isinstance(member, FunctionType):
        return False
    return member.__code__.co_filename == "<string>" or member.__globals__.get("__name__") in ("dataclasses", "reprlib")


def _is_abstract(base: type) -> bool:
    """Whether a class of a library holds no data in its instances."""
    return base.__module__ in ("abc", "typing", "collections.abc", "enum", "numbers", "builtins") and not issubclass(
        base, (BaseException, type)
    )


def _slots(base: type) -> Sequence[str]:
    slots = vars(base).get("__slots__", ())
    names = (slots,) if isinstance(slots, str) else tuple(slots)
    return [name for name in names if name not in ("__dict__", "__weakref__")]


_PLAIN: dict[type, Callable[[Any], bytes]] = {
    type(None): lambda value: b"n",
    type(...): lambda value: b"e",
    type(NotImplemented): lambda value: b"N",
    type(MISSING): lambda value: b"m",
    bool: lambda value: b"b1" if value else b"b0",
    int: lambda value: _sized(b"i", b"%d" % value),
    float: lambda value: b"f" + struct.pack("<d", value),
    complex: lambda value: b"z" + struct.pack("<dd", value.real, value.imag),
    str: lambda value: _sized(b"s", value.encode("utf-8", "surrogatepass")),
    bytes: lambda value: _sized(b"y", value),
}

_WALKED: dict[type, Callable[[_Walk, Any], bytes]] = {
    tuple: lambda walk, value: walk.items(b"t", value),
    list: lambda walk, value: walk.items(b"l", value),
    range: lambda walk, value: _sized(b"r", repr(value).encode()),
    slice: lambda walk, value: walk.items(b"/", (value.start, value.stop, value.step)),
    dict: _Walk.mapping,
    OrderedDict: _Walk.mapping,
    MappingProxyType: _Walk.mapping,
    set: _Walk.unordered,
    frozenset: _Walk.unordered,
    np.ndarray: _Walk.array,
    FunctionType: _Walk.function,
    BuiltinFunctionType: _Walk.builtin,
    MethodType: lambda walk, value: walk.items(b"m", (value.__func__, value.__self__)),
    partial: lambda walk, value: walk.items(b"p", (value.func, value.args, value.keywords, value.__dict__)),
    property: lambda walk, value: walk.items(b"P", (value.fget, value.fset, value.fdel)),
    classmethod: lambda walk, value: walk.items(b"M", (value.__func__,)),
    staticmethod: lambda walk, value: walk.items(b"S", (value.__func__,)),
    cached_property: lambda walk, value: walk.items(b"K", (value.func,)),
    SimpleNamespace: lambda walk, value: b"N" + walk.mapping(vars(value)),
    Field: _Walk.field,
}
