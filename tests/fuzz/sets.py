"""Files that setups of OpenSim's tools name: sets of tasks, actuators, markers and controls; and an MJCF file."""

TASKS = """<OpenSimDocument Version="40000"><CMC_TaskSet><objects><CMC_Joint name="knee"><active>true</active>
<kp>400 1 1</kp><kv>40 1 1</kv><coordinate>knee</coordinate></CMC_Joint><CMC_Joint name="hip"><active>true</active>
<kp>100</kp><kv>20</kv><coordinate>hip</coordinate></CMC_Joint>
</objects></CMC_TaskSet></OpenSimDocument>"""
ACTUATORS = """<OpenSimDocument Version="30000"><ForceSet><defaults><CoordinateActuator><optimal_force>3</optimal_force>
</CoordinateActuator></defaults><objects><CoordinateActuator name="motor"><coordinate>knee</coordinate>
<min_control>-10</min_control></CoordinateActuator><TorqueActuator name="twist"><bodyA>limb</bodyA><bodyB>ground</bodyB>
<axis>0 0 1</axis><torque_is_global>true</torque_is_global></TorqueActuator><PointActuator name="push"><body>limb</body>
<point>0 0.1 0</point><direction>1 0 0</direction></PointActuator></objects></ForceSet></OpenSimDocument>"""
MARKERS = """<OpenSimDocument Version="20302"><MarkerSet name="markers"><objects><Marker name="heel"><body>foot</body>
<location>0.1 0 -0.2</location><fixed>true</fixed></Marker><Marker name="toe">
<socket_parent_frame>/bodyset/foot</socket_parent_frame><location>0.2 0 0</location></Marker></objects></MarkerSet>
</OpenSimDocument>"""
CONTROLS = """<OpenSimDocument Version="40000"><ControlSet name="c"><objects><ControlLinear name="front">
<use_steps>true</use_steps><x_nodes><ControlLinearNode><t>0</t><value>0.2</value></ControlLinearNode>
<ControlLinearNode><t>0.1</t><value>0.4</value></ControlLinearNode></x_nodes></ControlLinear>
<ControlLinear name="back.excitation"><x_nodes><ControlLinearNode><t>0</t></ControlLinearNode></x_nodes>
</ControlLinear></objects></ControlSet></OpenSimDocument>"""
MJCF_PART = '<mujocoinclude><body name="tail" pos="0 0 1"><geom size="0.1"/></body></mujocoinclude>'
MJCF = """<mujoco model="arm"><compiler angle="radian" autolimits="true"/><option gravity="0 0 -9.81"/>
<default><geom rgba="1 0 0 1"/><default class="bone"><geom type="capsule" size="0.02 0.1"/><joint damping="0.1"/>
<default class="small"><geom size="0.01 0.1"/></default></default></default>
<asset><mesh name="skull" file="skull.stl" scale="1 1 2"/></asset>
<worldbody><body name="upper" childclass="bone" pos="0 0 1"><joint name="shoulder" type="ball"/><geom/>
<geom type="mesh" mesh="skull" mass="0"/><geom name="wheel" type="cylinder" size="0.03 0.1"/>
<site name="a" pos="0 0 0.1"/><site name="side" pos="0.1 0 0"/>
<frame euler="0.1 0.2 0.3"><body name="lower" pos="0 0 -0.3"><joint name="elbow" axis="0 1 0" range="-1 2"/>
<joint name="twist" axis="0 0 1" ref="0.1" frictionloss="0.2"/>
<geom class="small" fromto="0 0 0 0 0 -0.2"/><site name="b"/>
</body></frame></body>{0}</worldbody>
<tendon><spatial name="biceps" springlength="0.1" stiffness="10"><site site="a"/><geom geom="wheel" sidesite="side"/>
<site site="b"/></spatial><spatial name="split" damping="1"><site site="a"/><site site="b"/><pulley divisor="2"/>
<site site="side"/><geom geom="wheel" sidesite="a"/><site site="b"/></spatial>
<fixed name="both" stiffness="3" frictionloss="0.1">
<joint joint="elbow" coef="0.5"/><joint joint="twist" coef="-1"/></fixed>
</tendon>
<actuator><muscle name="flex" tendon="split" lengthrange="0.1 0.5" force="90" tausmooth="0.1" ctrlrange="0 1"/>
<position name="servo" joint="elbow" kp="3" kv="0.1"/><motor name="jet" site="side" gear="0 0 1"/>
<motor name="pull" tendon="biceps" gear="-100" ctrlrange="0 1"/><damper joint="elbow" kv="2" ctrlrange="0 1"/>
<general tendon="both" dyntype="filter" dynprm="0.1" ctrlrange="-1 1"/></actuator>
<contact><exclude body1="upper" body2="lower"/></contact>
<equality><connect body1="upper" body2="lower" anchor="0 0 0.1"/><joint joint1="twist"/>
<tendon tendon1="both" polycoef="0.1"/>
<joint joint1="elbow" joint2="twist" polycoef="0 0.5 0.1"/></equality>
<keyframe><key name="home" qpos="1 0 0 0 0.1 0.2" ctrl="0.5 0 0 0.5 0 0"/></keyframe></mujoco>"""
