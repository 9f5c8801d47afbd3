/* The console on any target: received bytes wait in a ring that the interrupt fills. */
#ifndef UHOST_CONSOLE_H
#define UHOST_CONSOLE_H

#include <stdbool.h>

/* The handler of the console's interrupt. */
void uhost_console_interrupt(void);

/* True if no received byte is waiting. */
bool uhost_console_is_empty(void);

#endif
