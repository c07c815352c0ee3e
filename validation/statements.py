"""The statements of the pages under each credibility factor of a study."""

QUESTION, LIMITS = "Question of the study", "What the model gets wrong, and limits"
BANDS = ("Markers (placement 5 mm, noise 0.5 mm), strengths (0.2 of the logarithm), attachments (3 mm) and inertias "
         "(0.1 of the logarithm) vary together; bands and shares are above.")  # fmt: skip
STATEMENTS: dict[str, dict[str, str | list[str]]] = {
    "instrumented_shoulder": {
        QUESTION: "Does a stability rule bring the computed glenohumeral force nearer to the measured one?",
        "Data pedigree": "Markers and measured forces: 10.4121/86db1d7d (CC0); model and solutions: "
                         "imihasan/customized-rmr-solver.",
        "Validation": ["The magnitude follows the measured one: correlation and RMS difference in the table.",
                       "Rules are compared at the motion from markers, and at the published angles."],
        "Input pedigree": ["The model gets what the published solutions had and its file lacks; the list is above.",
                           "Ratios of the rules come from concavity-compression tests of cadavers, strengths and "
                           "weights of reserves from the study."],
        "Uncertainty characterization": BANDS,
        "Results robustness": "Every stability rule of the study is in the table.",
        "Use history": "The model is the thoracoscapular shoulder of Seth and others (2019), scaled to the subject.",
        LIMITS: ["The direction of the force is predicted poorly: its mean angle to the measured one is in the table.",
                 "Published comparisons report forces that are too low at high elevation; the figure shows where.",
                 "The published solver sets rates of angles as speeds of the scapulothoracic joint, which are the "
                 "components of its angular velocity. The comparison at the published angles does the same.",
                 "OpenSim's paths of teres major and infraspinatus over two surfaces are too short: an arc is "
                 "shorter than its chord. Forces at the published angles differ by that.",
                 "Of the lateral raise, the published solutions of point and conditional do not solve their own "
                 "problem: the force is off the point by up to 2 degrees, and the circle's solution costs less under "
                 "the conditional penalty.",
                 "One person. Muscles have no damping and rigid tendons, as in the study."],
    },
    "belli_shoulder": {
        QUESTION: "Which activations move a shoulder, with and without a glenohumeral force that stays in its socket?",
        "Data pedigree": "rmr-solver (CC BY 4.0), 10.1371/journal.pone.0295003.",
        "Validation": "Solutions are compared with published solutions, not with measurements.",
        "Input pedigree": "Reserves, filter and derivatives are those of the study.",
        "Uncertainty characterization": BANDS,
        "Results robustness": "Both cases of each trial are in the table.",
        "Use history": "The thoracoscapular shoulder of Seth and others (2019) and the solver of the study.",
        LIMITS: ["The published solver stops at loose tolerances (1e-2 for constraints, 1e-3 for the effort): "
                 "agreement is to be expected to about 0.01.", "Activation dynamics between frames are left out."],
    },
    "emg_driven_leg": {
        QUESTION: "Do muscles driven by EMG give the moments of ankle and knee that inverse dynamics finds?",
        "Data pedigree": "CEINMS-RT/LowerLimbModel (Apache-2.0), 10.5281/zenodo.6457662.",
        "Validation": ["Moments are predicted for halves and trials that the calibration did not see.",
                       "Moments of inverse dynamics stand for measured ones."],
        "Input pedigree": "Each parameter has a stated prior distribution.",
        "Uncertainty characterization": "Dark bands are those of the posterior and of attachments (3 mm), light ones "
                                        "add the errors of measurement and model; on 200 synthetic trials 90 % bands "
                                        "hold 94 % of the true moments (python -m benchmarks posteriors).",
        "Results robustness": "Both halves of the trial are calibrated and predicted in turn.",
        "Use history": "The model is gait2392; the published calibration is that of CEINMS-RT.",
        LIMITS: ["One person. Tendons are rigid here, stiff in the published muscle model.",
                 "The delay of the published calibration is not known; the best of four is shown."],
    },
    "gait": {
        QUESTION: "Do the tools give what OpenSim's tools give from the same setup files?",
        "Data pedigree": "opensim-core (Apache-2.0).",
        "Validation": "None: two programs are compared with each other, no measurement is involved.",
        "Input pedigree": "Setup files, models and recordings are those of OpenSim's tests.",
        "Uncertainty characterization": f"{BANDS} Models without markers or muscles lack those sources.",
        "Results robustness": "Tolerances are those of OpenSim's own tests.",
        "Use history": "OpenSim's gait models gait2354 and arm26 are widely used.",
        LIMITS: ["Agreement of two programs does not say that a model is right.",
                 "Markers that are moved to the static pose differ by up to 9 mm, at the head: OpenSim's solver ends "
                 "at a pose whose weighted squared errors are greater. Masses and scaled sizes agree to round-off."],
    },
    "quaternion_jacobians": {
        QUESTION: "Which mappings between muscle Jacobians of quaternion and Euler joints hold?",
        "Data pedigree": "No recording is involved.",
        "Validation": "None: the statements are mathematical, and the tables are their check.",
        "Input pedigree": "Poses, strengths and activations are random with a stated seed.",
        "Uncertainty characterization": "Attachments of the muscle (3 mm) are the only inputs of its Jacobians; bands "
                                        "are in the figure. Errors of identities are those of round-off and have "
                                        "none; tolerances: myoquat mapping.",
        "Results robustness": "Two models, Euler sequences YZY and YZX, and poses beside the singularities.",
        "Use history": "The published analysis used the model mapping_analysis.",
        LIMITS: "The published maps back to four elements fail; Euler angles lose digits beside gimbal lock.",
    },
}  # fmt: skip
