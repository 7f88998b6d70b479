#include "CSystemShims.h"

#include <pthread.h>
#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

struct call {
  void (*work)(void *);
  void *context;
};

static void *called(void *call) {
  ((struct call *)call)->work(((struct call *)call)->context);
  return NULL;
}

void csystem_on_threads(int threads, void (*work)(void *), void *context) {
  pthread_t others[16];
  struct call call = {work, context};
  int started = 0;
  while (started < threads - 1 && started < 16 &&
         pthread_create(&others[started], NULL, called, &call) == 0)
    started++;
  work(context);
  while (started > 0) pthread_join(others[--started], NULL);
}

int csystem_thread_start(void *(*work)(void *), void *context, uintptr_t *number) {
  pthread_t thread;
  int failure = pthread_create(&thread, NULL, work, context);
  if (failure == 0) *number = (uintptr_t)thread;
  return failure;
}

void csystem_thread_join(uintptr_t number) { pthread_join((pthread_t)number, NULL); }

void csystem_share_heap(void) {
#ifdef M_ARENA_MAX
  mallopt(M_ARENA_MAX, 1);
#endif
}
