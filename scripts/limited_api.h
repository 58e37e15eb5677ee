// Read by scripts/lint before each source of the bindings: only the stable ABI of CPython 3.12 can be used, as in the
// wheel that serves 3.12 and all later versions.
#define Py_LIMITED_API 0x030c0000
#if __has_include(<Python.h>)
#include <Python.h>
#if PY_VERSION_HEX < 0x030c0000
// What nanobind uses of the stable ABI of 3.12, and headers of 3.11 do not declare.
extern "C" {
void PyErr_SetRaisedException(PyObject*);
PyObject* PyErr_GetRaisedException();
PyObject* PyObject_Vectorcall(PyObject*, PyObject* const*, size_t, PyObject*);
PyObject* PyObject_VectorcallMethod(PyObject*, PyObject* const*, size_t, PyObject*);
}
#endif
#endif
