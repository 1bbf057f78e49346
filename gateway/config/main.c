/* params-doc - prints docs/config.md. */
#include "config/params.h"

int main(void) {
    params_print_doc(stdout);
    return ferror(stdout) || fflush(stdout) ? 1 : 0;
}
