/*
 * "35_2" in a path: element 2 of array 35. It becomes the number of that job, so that every route
 * about a job takes it.
 */
#ifndef SERVER_ELEMENT_NAME_H
#define SERVER_ELEMENT_NAME_H

#include "server/request.h"

/* Puts the job's number in the place of such a name. False: answered, there is no such element. On
 * an HTTP thread, which asks the store. */
bool element_name_resolve(struct request *request);

#endif
