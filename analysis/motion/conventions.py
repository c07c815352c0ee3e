"""Conventions in which clinicians read rotations of a joint: the recommendations of the ISB, group by group.

Axes of every segment: x forward, y up, z to the right. R takes components of the distal segment to those of the
proximal one. It is a sequence of turns about the proximal, the floating and the distal axis [E. S. Grood, W. J. Suntay,
A joint coordinate system for the clinical description of three-dimensional motions, J. Biomech. Eng. 105, 1983]. Each
group names its three angles by the direction in which they are positive, on the right side. On the left side the same
names hold for the mirrored segments.

Sources:

- G. Wu et al., ISB recommendation on definitions of joint coordinate system of various joints for the reporting of
  human joint motion, part I: ankle, hip, and spine, J. Biomech. 35, 2002
- part II: shoulder, elbow, wrist and hand, J. Biomech. 38, 2005
- knee: Grood and Suntay, with the axes of the hip's segments
"""

from myoquat.core.records import dataclass

__all__ = ["ISB", "Convention"]


@dataclass(frozen=True)
class Convention:
    """An Euler sequence, the names of its angles, the signs by which those follow from the turns, and a source."""

    sequence: str
    names: tuple[str, str, str]
    signs: tuple[float, float, float] = (1.0, 1.0, 1.0)
    source: str = ""


PART_I, PART_II, GROOD = "Wu 2002", "Wu 2005", "Grood and Suntay 1983"
SHOULDER = Convention("YXY", ("plane_of_elevation", "elevation", "internal_rotation"), (1.0, -1.0, 1.0), PART_II)
SCAPULA = Convention("YXZ", ("protraction", "medial_rotation", "posterior_tilt"), source=PART_II)
TRUNK = ("extension", "right_bending", "left_rotation")

ISB: dict[str, Convention] = {
    "hip": Convention("ZXY", ("flexion", "adduction", "internal_rotation"), source=PART_I),
    "knee": Convention("ZXY", ("extension", "adduction", "internal_rotation"), source=GROOD),
    "ankle": Convention("ZXY", ("dorsiflexion", "inversion", "internal_rotation"), source=PART_I),
    "spine": Convention("ZXY", TRUNK, source=PART_I),
    "thorax": Convention("ZXY", TRUNK, source=PART_II),
    "sternoclavicular": Convention("YXZ", ("protraction", "depression", "backward_rotation"), source=PART_II),
    "acromioclavicular": SCAPULA,
    "scapulothoracic": SCAPULA,
    "glenohumeral": SHOULDER,
    "thoracohumeral": SHOULDER,
    "elbow": Convention("ZXY", ("flexion", "carrying_angle", "pronation"), source=PART_II),
    "wrist": Convention("ZXY", ("flexion", "ulnar_deviation", "pronation"), source=PART_II),
}
