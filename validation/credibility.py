"""The form of a page: questions of Hicks and others, and the credibility factors of NASA, as headings.

[J. L. Hicks, T. K. Uchida, A. Seth, A. Rajagopal, S. L. Delp, Is my model good enough? Best practices for verification
and validation of musculoskeletal models and simulations of movement, J. Biomech. Eng. 137, 2015; NASA-STD-7009A,
Standard for models and simulations, 2016, table of credibility factors].
"""

from collections.abc import Mapping
from pathlib import Path

from myoquat.apps.report import Said
from validation.files import file_states

QUESTION, LIMITS = "Question of the study", "What the model gets wrong, and limits"
FACTORS = (QUESTION, "Data pedigree", "Verification", "Validation", "Input pedigree", "Uncertainty characterization",
           "Results robustness", "Use history", "Management and reproducibility", LIMITS)  # fmt: skip
VERIFICATION = ("Formulas are solved to round-off: tests compare them with theorems and other engines (pytest; docs, "
                "Agreement with other engines). That does not say that a model is right.")  # fmt: skip
MANAGEMENT = "The same files and version give the same bits: tests/validation. The command is above."


def credibility(statements: Mapping[str, str | list[str]]) -> list[Said]:
    """A section for each factor in order; those without a statement say that none was made. ValueError for a heading
    that is no factor."""
    unknown = [name for name in statements if name not in FACTORS]
    if unknown:
        raise ValueError(f"{unknown[0]!r} is no factor; these are {', '.join(FACTORS)}")
    known = {"Verification": VERIFICATION, "Management and reproducibility": MANAGEMENT, **statements}
    sections = []
    for name in FACTORS:
        given = known.get(name, "No statement is made.")
        sections.append(Said(name, (given,) if isinstance(given, str) else tuple(given)))
    return sections


def pedigree(folder: Path, hashes: Mapping[str, str], used: list[str]) -> list[str]:
    """Which of the used files are as published, by SHA-256, and which are not in the list of known files."""
    states = file_states(folder, hashes)
    same = [name for name in used if states.get(name) == "as published"]
    other = [name for name in used if states.get(name) == "other content"]
    unlisted = [name for name in used if name not in hashes]
    lines = [f"As published (SHA-256): {', '.join(same) or 'none'}."]
    if other:
        lines.append(f"Other content than published under this name: {', '.join(other)}.")
    if unlisted:
        lines.append(f"Not in the list of known files, taken as they are: {', '.join(unlisted)}.")
    return lines
