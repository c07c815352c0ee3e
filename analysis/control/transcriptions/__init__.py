"""Transcriptions: one file per method, all with the verbs of `myoquat.analysis.control.transcriptions.base`."""

from myoquat.analysis.control.transcriptions.base import Transcription
from myoquat.analysis.control.transcriptions.collocation import Collocation, Gauss, HermiteSimpson, Radau, Trapezoid
from myoquat.analysis.control.transcriptions.midpoint import Midpoint
from myoquat.analysis.control.transcriptions.shooting import MultipleShooting

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
