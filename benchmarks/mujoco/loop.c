// MuJoCo's engine on many states in one call, for benchmarks.mujoco_paths and benchmarks.mujoco_dynamics.

#include <mujoco/mujoco.h>
#include <string.h>

static void copy(double *to, const double *from, long n) { memcpy(to, from, n * sizeof(double)); }

// Lengths, and the entries of each tendon's own columns in a row.
void paths(const mjModel *m, mjData *d, const double *q, long n, double *length, double *jacobian)
{
    for (long i = 0; i < n; i++) {
        copy(d->qpos, q + i * m->nq, m->nq);
        mj_kinematics(m, d);
        mj_comPos(m, d);
        mj_tendon(m, d);
        copy(length + i * m->ntendon, d->ten_length, m->ntendon);
        if (jacobian)
            copy(jacobian + i * m->ntendon * m->nv, d->ten_J, m->nJten);
    }
}

void forward(const mjModel *m, mjData *d, const double *q, const double *v, const double *tau, double *out, long n)
{
    for (long i = 0; i < n; i++) {
        copy(d->qpos, q + i * m->nq, m->nq);
        copy(d->qvel, v + i * m->nv, m->nv);
        copy(d->qfrc_applied, tau + i * m->nv, m->nv);
        mj_forward(m, d);
        copy(out + i * m->nv, d->qacc, m->nv);
    }
}

void inverse(const mjModel *m, mjData *d, const double *q, const double *v, const double *a, double *out, long n)
{
    for (long i = 0; i < n; i++) {
        copy(d->qpos, q + i * m->nq, m->nq);
        copy(d->qvel, v + i * m->nv, m->nv);
        copy(d->qacc, a + i * m->nv, m->nv);
        mj_inverse(m, d);
        copy(out + i * m->nv, d->qfrc_inverse, m->nv);
    }
}

// The mass matrix as MuJoCo stores it, its nonzeros below the diagonal.
void mass(const mjModel *m, mjData *d, const double *q, const double *v, const double *a, double *out, long n)
{
    for (long i = 0; i < n; i++) {
        copy(d->qpos, q + i * m->nq, m->nq);
        mj_kinematics(m, d);
        mj_comPos(m, d);
        mj_makeM(m, d);
        copy(out + i * m->nC, d->M, m->nC);
    }
}

// n steps of the model's own integrator from the state that the data holds.
void steps(const mjModel *m, mjData *d, long n)
{
    for (long i = 0; i < n; i++)
        mj_step(m, d);
}
