"""Transcriptions: one file per method, all with the verbs of `myoquat.analysis.control.transcriptions.base`."""

from myoquat.analysis.control.transcriptions.base import Transcription
from myoquat.analysis.control.transcriptions.collocation import Collocation
from myoquat.analysis.control.transcriptions.gauss import Gauss
from myoquat.analysis.control.transcriptions.hermite_simpson import HermiteSimpson
from myoquat.analysis.control.transcriptions.midpoint import Midpoint
from myoquat.analysis.control.transcriptions.radau import Radau
from myoquat.analysis.control.transcriptions.shooting import MultipleShooting
from myoquat.analysis.control.transcriptions.trapezoid import Trapezoid

TRANSCRIPTIONS: dict[str, Transcription] = {
    method.title: method for method in (Midpoint(), Trapezoid(), HermiteSimpson(), Gauss(), Radau(), MultipleShooting())
}

__all__ = [
    "TRANSCRIPTIONS",
    "Collocation",
    "Gauss",
    "HermiteSimpson",
    "Midpoint",
    "MultipleShooting",
    "Radau",
    "Transcription",
    "Trapezoid",
]
