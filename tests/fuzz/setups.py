"""Setup files of OpenSim's tools, beside leg.osim, walk.trc and walk.mot."""

__all__ = ["ID", "IK", "REACTION", "SCALE"]

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
