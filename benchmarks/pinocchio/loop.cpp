// Pinocchio's algorithms on many states in one call, for benchmarks.pinocchio_dynamics.

#include <pinocchio/algorithm/aba-derivatives.hpp>
#include <pinocchio/algorithm/aba.hpp>
#include <pinocchio/algorithm/crba.hpp>
#include <pinocchio/algorithm/rnea.hpp>

#include <pinocchio/multibody.hpp>

namespace pin = pinocchio;
using Vector = Eigen::Map<const Eigen::VectorXd>;
using Result = Eigen::Map<Eigen::VectorXd>;

struct Loop {
    pin::Model model;
    pin::Data data;
};

static pin::JointIndex joint(pin::Model &model, int kind, int parent, const pin::SE3 &placement)
{
    switch (kind) {
    case 0: return model.addJoint(parent, pin::JointModelSpherical(), placement, "");
    case 1: return model.addJoint(parent, pin::JointModelFreeFlyer(), placement, "");
    case 2: return model.addJoint(parent, pin::JointModelRX(), placement, "");
    case 3: return model.addJoint(parent, pin::JointModelRY(), placement, "");
    default: return model.addJoint(parent, pin::JointModelRZ(), placement, "");
    }
}

extern "C" {

// Per body: kind of its joint, parent (0: the world, k: body k counted from 1), and 13 numbers: place of the joint on
// the parent, mass, centre of mass, inertia about it (xx, yy, zz, xy, xz, yz). Joint axes are those of the parent.
Loop *make(int bodies, const int *kinds, const int *parents, const double *numbers)
{
    auto *loop = new Loop;
    for (int i = 0; i < bodies; i++) {
        const double *x = numbers + 13 * i;
        pin::SE3 placement(Eigen::Matrix3d::Identity(), Eigen::Vector3d(x[0], x[1], x[2]));
        auto index = joint(loop->model, kinds[i], parents[i], placement);
        Eigen::Matrix3d inertia;
        inertia << x[7], x[10], x[11], x[10], x[8], x[12], x[11], x[12], x[9];
        pin::Inertia body(x[3], Eigen::Vector3d(x[4], x[5], x[6]), inertia);
        loop->model.appendBodyToJoint(index, body, pin::SE3::Identity());
    }
    loop->data = pin::Data(loop->model);
    return loop;
}

void destroy(Loop *loop) { delete loop; }

void aba(Loop *loop, const double *q, const double *v, const double *tau, double *out, long states)
{
    const auto &model = loop->model;
    for (long i = 0; i < states; i++)
        Result(out + i * model.nv, model.nv) = pin::aba(
            model, loop->data, Vector(q + i * model.nq, model.nq), Vector(v + i * model.nv, model.nv),
            Vector(tau + i * model.nv, model.nv), pin::Convention::LOCAL);
}

void rnea(Loop *loop, const double *q, const double *v, const double *a, double *out, long states)
{
    const auto &model = loop->model;
    for (long i = 0; i < states; i++)
        Result(out + i * model.nv, model.nv) = pin::rnea(
            model, loop->data, Vector(q + i * model.nq, model.nq), Vector(v + i * model.nv, model.nv),
            Vector(a + i * model.nv, model.nv));
}

// The upper triangle, as Pinocchio fills it.
void crba(Loop *loop, const double *q, const double *, const double *, double *out, long states)
{
    const auto &model = loop->model;
    for (long i = 0; i < states; i++)
        Eigen::Map<Eigen::MatrixXd>(out + i * model.nv * model.nv, model.nv, model.nv) =
            pin::crba(model, loop->data, Vector(q + i * model.nq, model.nq), pin::Convention::LOCAL);
}

// Derivatives of ABA by q, by v and by tau, each by columns; of the last, M^-1, the upper triangle.
void aba_derivatives(Loop *loop, const double *q, const double *v, const double *tau, double *out, long states)
{
    const auto &model = loop->model;
    using Matrix = Eigen::Map<Eigen::MatrixXd>;
    const long size = long(model.nv) * model.nv;
    for (long i = 0; i < states; i++) {
        pin::computeABADerivatives(
            model, loop->data, Vector(q + i * model.nq, model.nq), Vector(v + i * model.nv, model.nv),
            Vector(tau + i * model.nv, model.nv));
        Matrix(out + 3 * i * size, model.nv, model.nv) = loop->data.ddq_dq;
        Matrix(out + (3 * i + 1) * size, model.nv, model.nv) = loop->data.ddq_dv;
        Matrix(out + (3 * i + 2) * size, model.nv, model.nv) = loop->data.Minv;
    }
}
}
