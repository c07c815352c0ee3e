"""A model of OpenSim with many types of forces, and problems of Moco, .omoco, beside the files that they name."""

from pathlib import Path

import numpy as np

from myoquat.data import load_model, motions

POINTS = """<PathPointSet><objects><PathPoint name="a"><socket_parent_frame>/ground</socket_parent_frame>
<location>{} 0 0</location></PathPoint><PathPoint name="b"><socket_parent_frame>/bodyset/block</socket_parent_frame>
<location>0 0.1 0</location></PathPoint></objects></PathPointSet>"""
TENDON = """<max_isometric_force>300</max_isometric_force><optimal_fiber_length>0.2</optimal_fiber_length>
<tendon_slack_length>0.1</tendon_slack_length>"""
BUSHED = """<frames><PhysicalOffsetFrame name="o1"><socket_parent>/ground</socket_parent><translation>0.1 0.5 0
</translation><orientation>0.1 -0.2 0.3</orientation></PhysicalOffsetFrame><PhysicalOffsetFrame name="o2">
<socket_parent>/bodyset/block</socket_parent></PhysicalOffsetFrame></frames><socket_frame1>o1</socket_frame1>
<socket_frame2>o2</socket_frame2>"""
CONTACT = """<geometry>floor ball</geometry><stiffness>3e5</stiffness><dissipation>0.3</dissipation>
<static_friction>0.9</static_friction><dynamic_friction>0.6</dynamic_friction>
<viscous_friction>0.2</viscous_friction>"""
FORCES = f"""<OpenSimDocument Version="40000"><Model name="tug"><gravity>0 -9.8 0</gravity>
<ContactGeometrySet><objects><ContactHalfSpace name="floor"><socket_frame>/ground</socket_frame>
<location>0 -1 0</location><orientation>0 0 -1.57</orientation></ContactHalfSpace><ContactSphere name="ball">
<socket_frame>/bodyset/block</socket_frame><location>0 0.1 0</location><radius>0.05</radius></ContactSphere></objects>
</ContactGeometrySet><ControllerSet><objects><PrescribedController name="pull"><actuator_list>left motor</actuator_list>
<FunctionSet name="ControlFunctions"><objects><LinearFunction><coefficients>1 0.2</coefficients></LinearFunction>
<PiecewiseLinearFunction><x>0 0.1 0.3 1</x><y>0 1 -1 0</y></PiecewiseLinearFunction></objects></FunctionSet>
</PrescribedController></objects></ControllerSet><BodySet><objects><Body name="block"><mass>20</mass>
<mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia><WrapObjectSet><objects><WrapCylinder name="tube">
<quadrant>+x</quadrant><radius>0.02</radius><length>0.3</length></WrapCylinder><WrapEllipsoid name="egg">
<dimensions>0.01 0.02 0.03</dimensions><translation>0.1 0 0</translation></WrapEllipsoid></objects></WrapObjectSet>
</Body></objects></BodySet><JointSet><objects><SliderJoint name="slider">
<socket_parent_frame>/ground</socket_parent_frame><socket_child_frame>/bodyset/block</socket_child_frame><coordinates>
<Coordinate name="x"><range>-1 1</range><clamped>true</clamped></Coordinate></coordinates></SliderJoint></objects>
</JointSet><ForceSet><objects>
<Millard2012EquilibriumMuscle name="left"><GeometryPath>{POINTS.format(-0.3)}<PathWrapSet><objects><PathWrap name="w">
<wrap_object>tube</wrap_object><range>1 2</range></PathWrap></objects></PathWrapSet></GeometryPath>{TENDON}
<ActiveForceLengthCurve><min_norm_active_fiber_length>0.5</min_norm_active_fiber_length></ActiveForceLengthCurve>
</Millard2012EquilibriumMuscle><DeGrooteFregly2016Muscle name="right"><FunctionBasedPath>
<coordinate_paths>/jointset/slider/x</coordinate_paths><length_function><MultivariatePolynomialFunction>
<coefficients>0.3 0.1 0.01</coefficients><dimension>1</dimension><order>2</order></MultivariatePolynomialFunction>
</length_function></FunctionBasedPath>{TENDON}</DeGrooteFregly2016Muscle>
<Schutte1993Muscle_Deprecated name="old"><GeometryPath>{POINTS.format(0.2)}</GeometryPath>{TENDON}
<damping>0.05</damping></Schutte1993Muscle_Deprecated>
<Blankevoort1991Ligament name="band"><linear_stiffness>900</linear_stiffness><slack_length>0.3</slack_length>
<GeometryPath>{POINTS.format(0.4)}</GeometryPath></Blankevoort1991Ligament>
<CoordinateActuator name="motor"><coordinate>x</coordinate><optimal_force>40</optimal_force></CoordinateActuator>
<PointToPointActuator name="strut"><bodyA>ground</bodyA><bodyB>block</bodyB><pointA>0 1 0</pointA><pointB>0 0 0</pointB>
</PointToPointActuator><CoordinateLimitForce name="stop"><coordinate>x</coordinate><upper_limit>90</upper_limit>
<lower_limit>-90</lower_limit><upper_stiffness>1</upper_stiffness><lower_stiffness>1</lower_stiffness>
<damping>0.1</damping><transition>5</transition></CoordinateLimitForce>
<ExpressionBasedCoordinateForce name="hold"><coordinate>x</coordinate>
<expression>-12*(q-0.1)^3-0.7*qdot*exp(-q^2)+2*sin(3*q)</expression></ExpressionBasedCoordinateForce>
<ExpressionBasedPointToPointForce name="spring"><body1>block</body1><point1>0 0 0.1</point1><body2>ground</body2>
<point2>0.3 0.2 0</point2><expression>250*max(d-0.4,0)+3*tanh(ddot)</expression></ExpressionBasedPointToPointForce>
<ExpressionBasedBushingForce name="soft">{BUSHED}<Mx_expression>10*theta_x+2*theta_y*delta_z</Mx_expression>
<Fz_expression>150*delta_z</Fz_expression></ExpressionBasedBushingForce>
<BushingForce name="bush">{BUSHED}<translational_stiffness>300 200 150</translational_stiffness></BushingForce>
<HuntCrossleyForce name="pressed"><HuntCrossleyForce::ContactParametersSet name="contact_parameters"><objects>
<HuntCrossleyForce::ContactParameters>{CONTACT}</HuntCrossleyForce::ContactParameters></objects>
</HuntCrossleyForce::ContactParametersSet><transition_velocity>0.1</transition_velocity></HuntCrossleyForce>
<SmoothSphereHalfSpaceForce name="step"><socket_sphere>/contactgeometryset/ball</socket_sphere>
<socket_half_space>/contactgeometryset/floor</socket_half_space><stiffness>1e6</stiffness></SmoothSphereHalfSpaceForce>
</objects></ForceSet></Model></OpenSimDocument>"""

MODEL = """<ModelProcessor name="model"><filepath>moved.osim</filepath><operators>{}</operators></ModelProcessor>"""
TABLE = """<TableProcessor name="{}"><filepath>way.sto</filepath><operators><TabOpLowPassFilter>
<cutoff_frequency>6</cutoff_frequency></TabOpLowPassFilter></operators></TableProcessor>"""
STUDY = f"""<OpenSimDocument Version="40600"><MocoStudy name="slide"><MocoProblem><MocoPhase name="phases">
{MODEL.format("<ModOpAddReserves><optimal_force>1</optimal_force></ModOpAddReserves>")}
<MocoInitialBounds name="time_initial_bounds"><bounds>0</bounds></MocoInitialBounds>
<MocoFinalBounds name="time_final_bounds"><bounds>1</bounds></MocoFinalBounds><state_infos>
<MocoVariableInfo name="/jointset/slider/x/value"><bounds>-0.5 0.5</bounds><initial_bounds>0</initial_bounds>
<final_bounds>0.1</final_bounds></MocoVariableInfo></state_infos><state_infos_pattern><MocoVariableInfo name=".*/speed">
<bounds>-9 9</bounds></MocoVariableInfo></state_infos_pattern><control_infos_pattern><MocoVariableInfo name=".*">
<bounds>-5 5</bounds></MocoVariableInfo></control_infos_pattern><parameters><MocoParameter name="mass"><MocoBounds>
<bounds>1 3</bounds></MocoBounds><component_paths>/bodyset/block</component_paths><property_name>mass</property_name>
</MocoParameter></parameters><goals><MocoFinalTimeGoal name="time"/><MocoControlGoal name="effort"><weight>0.5</weight>
<exponent>3</exponent><MocoWeightSet name="control_weights"><objects>
<MocoWeight name="/forceset/motor"><weight>2</weight></MocoWeight></objects></MocoWeightSet></MocoControlGoal>
<MocoStateTrackingGoal name="track">{TABLE.format("reference")}
</MocoStateTrackingGoal><MocoMarkerFinalGoal name="end"><point_name>/markerset/tip</point_name>
<reference_location>0 0 0</reference_location></MocoMarkerFinalGoal><MocoPeriodicityGoal name="again"><state_pairs>
<MocoPeriodicityGoalPair><initial_variable>/jointset/slider/x/value</initial_variable></MocoPeriodicityGoalPair>
</state_pairs></MocoPeriodicityGoal><MocoAverageSpeedGoal name="pace"><desired_average_speed>1</desired_average_speed>
</MocoAverageSpeedGoal><MocoSumSquaredStateGoal name="still"><pattern>.*value</pattern></MocoSumSquaredStateGoal>
</goals><path_constraints><MocoFrameDistanceConstraint name="apart"><frame_pairs><MocoFrameDistanceConstraintPair>
<frame1_path>/ground</frame1_path><frame2_path>/bodyset/block</frame2_path><minimum_distance>0.1</minimum_distance>
</MocoFrameDistanceConstraintPair></frame_pairs></MocoFrameDistanceConstraint><MocoControlBoundConstraint name="low">
<control_paths>/forceset/motor</control_paths><upper_bound><Constant><value>3</value></Constant></upper_bound>
</MocoControlBoundConstraint></path_constraints></MocoPhase></MocoProblem><MocoCasADiSolver name="solver">
<num_mesh_intervals>10</num_mesh_intervals><transcription_scheme>legendre-gauss-radau-3</transcription_scheme>
<optim_max_iterations>10</optim_max_iterations></MocoCasADiSolver></MocoStudy></OpenSimDocument>"""
TRACK = f"""<OpenSimDocument Version="40600"><MocoTrack name="follow">
{MODEL.format("<ModOpRemoveMuscles/><ModOpAddReserves><optimal_force>2</optimal_force></ModOpAddReserves>")}
{TABLE.format("states_reference")}<track_reference_position_derivatives>true</track_reference_position_derivatives>
<mesh_interval>0.1</mesh_interval><states_global_tracking_weight>10</states_global_tracking_weight>
<MocoWeightSet name="states_weight_set"><objects><MocoWeight name="/jointset/slider/x/value"><weight>3</weight>
</MocoWeight></objects></MocoWeightSet></MocoTrack></OpenSimDocument>"""
DGF = "<ModOpReplaceMusclesWithDeGrooteFregly2016/><ModOpIgnorePassiveFiberForcesDGF/><ModOpIgnoreTendonCompliance/>"
INVERSE = f"""<OpenSimDocument Version="40600"><MocoInverse name="lift">{MODEL.format(DGF)}{TABLE.format("kinematics")}
<initial_time>0.1</initial_time><final_time>0.4</final_time><mesh_interval>0.05</mesh_interval>
<convergence_tolerance>1e-5</convergence_tolerance><constraint_tolerance>1e-5</constraint_tolerance>
</MocoInverse></OpenSimDocument>"""
MOVED = f"""<OpenSimDocument Version="40000"><Model name="moved"><gravity>0 0 0</gravity><BodySet><objects>
<Body name="block"><mass>2</mass><mass_center>0 0 0</mass_center><inertia>1 1 1 0 0 0</inertia></Body></objects>
</BodySet><JointSet><objects><SliderJoint name="slider"><socket_parent_frame>/ground</socket_parent_frame>
<socket_child_frame>/bodyset/block</socket_child_frame><coordinates><Coordinate name="x"/></coordinates></SliderJoint>
</objects></JointSet><ForceSet><objects><Millard2012EquilibriumMuscle name="left">
<GeometryPath>{POINTS.format(-0.3)}</GeometryPath>{TENDON}</Millard2012EquilibriumMuscle>
<CoordinateActuator name="motor"><coordinate>x</coordinate><optimal_force>4</optimal_force></CoordinateActuator>
</objects></ForceSet><MarkerSet><objects><Marker name="tip"><socket_parent_frame>/bodyset/block</socket_parent_frame>
<location>0 0.1 0</location></Marker></objects></MarkerSet></Model></OpenSimDocument>"""


def moco_seeds(folder: Path) -> list[bytes]:
    """Problems beside the model and the table that they name, which stay whole: these are formats of their own."""
    (folder / "moved.osim").write_text(MOVED)
    model, time = load_model(folder / "moved.osim"), np.linspace(0.0, 1.0, 21)
    table = motions.motion_from_states(model, time, 0.1 * np.sin(time)[:, None])
    motions.save_table(table.rename(columns={"x": "/jointset/slider/x/value"}), folder / "way.sto", overwrite=True)
    return [text.encode() for text in (STUDY, TRACK, INVERSE)]
