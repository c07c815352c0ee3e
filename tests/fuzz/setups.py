"""Setup files of OpenSim's tools, beside leg.osim, walk.trc and walk.mot."""

IK = """<?xml version="1.0"?>
<OpenSimDocument Version="40000"><InverseKinematicsTool name="walk">
<model_file>leg.osim</model_file><marker_file>walk.trc</marker_file><coordinate_file>Unassigned</coordinate_file>
<IKTaskSet><objects>
<IKMarkerTask name="thigh0"><weight>2</weight></IKMarkerTask>
{tasks}
<IKCoordinateTask name="toe_angle"><weight>3</weight><value_type>manual_value</value_type><value>0.1</value>
</IKCoordinateTask>
</objects></IKTaskSet>
<time_range>0.05 0.3</time_range><output_motion_file>ik.mot</output_motion_file>
<results_directory>out</results_directory><report_marker_locations>true</report_marker_locations>
</InverseKinematicsTool></OpenSimDocument>"""

ID = """<OpenSimDocument Version="40000"><InverseDynamicsTool name="walk">
<model_file>leg.osim</model_file><coordinates_file>walk.mot</coordinates_file><time_range>0.1 0.4</time_range>
<lowpass_cutoff_frequency_for_coordinates>6</lowpass_cutoff_frequency_for_coordinates>
<forces_to_exclude>muscles</forces_to_exclude><results_directory>out</results_directory>
<output_gen_force_file>id.sto</output_gen_force_file></InverseDynamicsTool></OpenSimDocument>"""

REACTION = """<OpenSimDocument Version="40000"><AnalyzeTool name="walk">
<model_file>leg.osim</model_file><coordinates_file>walk.mot</coordinates_file>
<initial_time>0.1</initial_time><final_time>0.4</final_time><results_directory>out</results_directory>
<AnalysisSet><objects><JointReaction name="JointReaction"><joint_names>thigh foot</joint_names>
<apply_on_bodies>child parent</apply_on_bodies><express_in_frame>child ground</express_in_frame></JointReaction>
</objects></AnalysisSet></AnalyzeTool></OpenSimDocument>"""

SCALE = """<OpenSimDocument Version="40000"><ScaleTool name="person"><mass>40</mass>
<GenericModelMaker><model_file>leg.osim</model_file></GenericModelMaker>
<ModelScaler><scaling_order>measurements manualScale</scaling_order><marker_file>walk.trc</marker_file>
<MeasurementSet><objects><Measurement name="thigh"><MarkerPairSet><objects>
<MarkerPair><markers>thigh0 thigh1</markers></MarkerPair></objects></MarkerPairSet>
<BodyScaleSet><objects><BodyScale name="thigh"><axes>X Y Z</axes></BodyScale>
<BodyScale name="ghost"><axes>X</axes></BodyScale></objects></BodyScaleSet></Measurement></objects></MeasurementSet>
<ScaleSet><objects><Scale><scales>1.1 1.0 0.9</scales><segment>shank</segment></Scale></objects></ScaleSet>
<time_range>0 0.1</time_range><output_model_file>scaled.osim</output_model_file>
<output_scale_file>factors.xml</output_scale_file></ModelScaler>
<MarkerPlacer><marker_file>walk.trc</marker_file><time_range>0 0</time_range>
<output_model_file>placed.osim</output_model_file><output_marker_file>markers.xml</output_marker_file>
<output_motion_file>static.mot</output_motion_file></MarkerPlacer></ScaleTool></OpenSimDocument>"""

ANALYSES = """<OpenSimDocument Version="40000"><AnalyzeTool name="walk"><model_file>leg.osim</model_file>
<force_set_files>reserves.xml</force_set_files><output_precision>16</output_precision>
<initial_time>0.1</initial_time><final_time>0.4</final_time><results_directory>out</results_directory>
<AnalysisSet><objects>{analyses}</objects></AnalysisSet><ControllerSet><objects>{controllers}</objects></ControllerSet>
<{source}_file>walk.sto</{source}_file></AnalyzeTool></OpenSimDocument>"""
MOVES = """<Kinematics name="Kinematics"><coordinates>all</coordinates><step_interval>4</step_interval></Kinematics>
<BodyKinematics name="BodyKinematics"><bodies>all</bodies></BodyKinematics>
<BodyKinematics name="Local"><bodies>shank center_of_mass</bodies>
<express_results_in_body_local_frame>true</express_results_in_body_local_frame></BodyKinematics>
<PointKinematics name="Point"><body_name>foot</body_name><relative_to_body_name>shank</relative_to_body_name>
<point_name>tip</point_name><point>0.1 -0.2 0.03</point></PointKinematics>
<PointKinematics name="ByPath"><body_name>/bodyset/foot</body_name>
<relative_to_body_name>/ground</relative_to_body_name><point_name>tip</point_name></PointKinematics>
<PointKinematics name="Default"><body_name>foot</body_name><relative_to_body_name>none</relative_to_body_name>
</PointKinematics>"""
MUSCLES = (
    """<MuscleAnalysis name="Muscles"><muscle_list>all</muscle_list></MuscleAnalysis><Actuation name="Actuation"/>"""
)
REACTIONS = """<JointReaction name="Reaction"/>"""
OPTIMAL = (
    """<StaticOptimization name="Optimal"><activation_exponent>{power}</activation_exponent></StaticOptimization>"""
)

WHOLE = ANALYSES.format(source="states", analyses=MOVES + MUSCLES + OPTIMAL.format(power=2) + REACTIONS, controllers="")

PLACER = """<OpenSimDocument Version="40000"><IMUPlacer><model_file>leg.osim</model_file>
<base_imu_label>pelvis_imu</base_imu_label><base_heading_axis>-z</base_heading_axis>
<sensor_to_opensim_rotations>-1.5 0.1 0.2</sensor_to_opensim_rotations>
<orientation_file_for_calibration>walk.sto</orientation_file_for_calibration>
<output_model_file>placed.osim</output_model_file></IMUPlacer></OpenSimDocument>"""
TRACKING = """<OpenSimDocument Version="40000"><IMUInverseKinematicsTool name="walk"><accuracy>1e-9</accuracy>
<model_file>placed.osim</model_file><orientations_file>walk.sto</orientations_file><time_range>0.1 0.2</time_range>
<sensor_to_opensim_rotations>-1.5 0.1 0.2</sensor_to_opensim_rotations><results_directory>out</results_directory>
<OrientationWeightSet><objects><OrientationWeight name="foot_imu"><weight>2</weight></OrientationWeight></objects>
</OrientationWeightSet></IMUInverseKinematicsTool></OpenSimDocument>"""
CMC = """<OpenSimDocument Version="20302"><CMCTool name="limb"><model_file>leg.osim</model_file>
<force_set_files>reserves.xml</force_set_files><results_directory>found</results_directory>
<initial_time>0.1</initial_time><final_time>0.18</final_time><desired_kinematics_file>walk.mot</desired_kinematics_file>
<task_set_file>tasks.xml</task_set_file><cmc_time_window>0.01</cmc_time_window>
<lowpass_cutoff_frequency>6</lowpass_cutoff_frequency></CMCTool></OpenSimDocument>"""
FORWARD = """<OpenSimDocument Version="40000"><ForwardTool name="limb"><model_file>leg.osim</model_file>
<force_set_files>reserves.xml</force_set_files><results_directory>found</results_directory>
<initial_time>0.105</initial_time><final_time>0.3</final_time>
<integrator_error_tolerance>1e-8</integrator_error_tolerance>
<AnalysisSet name="Analyses"><objects><Kinematics name="Kinematics"><on>true</on></Kinematics><ForceReporter name="All">
<on>true</on></ForceReporter></objects></AnalysisSet><ControllerSet name="Controllers"><objects>
<ControlSetController name="steps"><controls_file>walk.sto</controls_file></ControlSetController>
<CorrectionController name="correction"><kp>4</kp><kv>1</kv></CorrectionController></objects></ControllerSet>
<states_file>walk.sto</states_file></ForwardTool></OpenSimDocument>"""
