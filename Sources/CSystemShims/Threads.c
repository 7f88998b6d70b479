#include "CSystemShims.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

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

static void *called_once(void *memory) {
  struct call call = *(struct call *)memory;
  free(memory);
  call.work(call.context);
  return NULL;
}

int csystem_thread_start(void (*work)(void *), void *context, uintptr_t *number) {
  struct call *call = malloc(sizeof *call);
  if (call == NULL) return ENOMEM;
  *call = (struct call){work, context};
  pthread_t thread;
  int failure = pthread_create(&thread, NULL, called_once, call);
  if (failure != 0) {
    free(call);
    return failure;
  }
  *number = (uintptr_t)thread;
  return 0;
}

void csystem_thread_join(uintptr_t number) { pthread_join((pthread_t)number, NULL); }
