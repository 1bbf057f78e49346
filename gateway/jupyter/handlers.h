/* handlers - one function per row of routes.def; each answers its exchange, now or later. */
#pragma once

struct exchange;

#define ROUTE(method, path, handler, access) void handler(struct exchange *exchange);
#include "jupyter/routes.def"
#undef ROUTE
