#include "hostccl.h"

const char *host_version(uintptr_t function)
{
	return ((const char *(*)(void))function)();
}

const char *host_error_string(uintptr_t function, int result)
{
	return ((const char *(*)(int))function)(result);
}

int host_mem_alloc(uintptr_t function, size_t bytes, uintptr_t *memory)
{
	void *allocated = NULL;
	int result = ((int (*)(void **, size_t))function)(&allocated, bytes);
	*memory = (uintptr_t)allocated;
	return result;
}

int host_create(uintptr_t function, uintptr_t *handle)
{
	void *created = NULL;
	int result = ((int (*)(void **))function)(&created);
	*handle = (uintptr_t)created;
	return result;
}

int host_on_handle(uintptr_t function, uintptr_t handle)
{
	return ((int (*)(void *))function)((void *)handle);
}

int host_record(uintptr_t function, uintptr_t event, uintptr_t stream)
{
	return ((int (*)(void *, void *))function)((void *)event, (void *)stream);
}

int host_elapsed(uintptr_t function, int64_t *nanoseconds, uintptr_t from, uintptr_t to)
{
	return ((int (*)(int64_t *, void *, void *))function)(nanoseconds, (void *)from, (void *)to);
}

// The null stream serves copies: nothing else is queued there, so it cannot be stuck.
static int copy_now(uintptr_t copy, uintptr_t synchronize, void *to, const void *from, size_t bytes)
{
	int result = ((int (*)(void *, const void *, size_t, void *))copy)(to, from, bytes, NULL);
	if (result != 0) {
		return result;
	}
	return ((int (*)(void *))synchronize)(NULL);
}

int host_upload(uintptr_t copy, uintptr_t synchronize, uintptr_t to, const void *from, size_t bytes)
{
	return copy_now(copy, synchronize, (void *)to, from, bytes);
}

int host_download(uintptr_t copy, uintptr_t synchronize, void *to, uintptr_t from, size_t bytes)
{
	return copy_now(copy, synchronize, to, (const void *)from, bytes);
}
