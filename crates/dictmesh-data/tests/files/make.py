"""Makes the files the readers are tested on, as numpy and scipy write them: one matrix in every
format. Run once; the files are kept so that tests need no Python."""
import io
import zipfile

import numpy as np
import scipy.io
import scipy.sparse as sp

a = np.array([[1, 0, 2], [0, 0, 3], [4, 5, 0], [0, 6, 0]])
np.save("f8.npy", a.astype("<f8"))
np.save("f4-fortran.npy", np.asfortranarray(a.astype("<f4")))
np.save("i8.npy", a.astype("<i8"))
np.save("i2-big-endian.npy", a.astype(">i2"))
np.save("u1-fortran.npy", np.asfortranarray(a.astype("u1")))
np.savez("dense-stored.npz", a.astype("<f8"))
np.savez_compressed("dense-deflated.npz", a.astype("<f4"))
np.savez_compressed("dense-fortran.npz", np.asfortranarray(a.astype("<f8")))
unsorted = sp.csr_matrix(
    (np.array([2, 1, 3, 4, 5, 6.0]), np.array([2, 0, 2, 0, 1, 1]), np.array([0, 2, 3, 5, 6])),
    shape=a.shape,
)
sp.save_npz("csr-unsorted.npz", unsorted)
sp.save_npz("csr-stored.npz", sp.csr_matrix(a), compressed=False)
sp.save_npz("csc.npz", sp.csc_matrix(a.astype(float)))
twice = sp.coo_matrix(([6, 4, 1, 2, 3, 2, 3], ([3, 2, 0, 0, 1, 2, 2], [1, 0, 0, 2, 2, 1, 1])), a.shape)
sp.save_npz("coo-duplicates.npz", twice)
scipy.io.mmwrite("coordinate.mtx", sp.csr_matrix(a), comment="by rows\n")
scipy.io.mmwrite("coordinate-by-columns.mtx", sp.csc_matrix(a.astype(float)))
scipy.io.mmwrite("array.mtx", a.astype(float))
# Symmetric, skew-symmetric and pattern matrices, with what they must be.
s = np.array([[1, 2, 0], [2, 0, 3], [0, 3, 4]])
scipy.io.mmwrite("symmetric.mtx", sp.csr_matrix(s), symmetry="symmetric")
scipy.io.mmwrite("symmetric-array.mtx", s, symmetry="symmetric")
k = np.array([[0, 2, 0], [-2, 0, 3], [0, -3, 0]])
scipy.io.mmwrite("skew.mtx", sp.csr_matrix(k), symmetry="skew-symmetric")
scipy.io.mmwrite("skew-array.mtx", k, symmetry="skew-symmetric")
scipy.io.mmwrite("pattern.mtx", sp.csr_matrix(a != 0), field="pattern")
np.save("words.npy", np.array(["red", "blue", "réd"]))
np.save("numbers.npy", np.array([3, 1, 2]))
