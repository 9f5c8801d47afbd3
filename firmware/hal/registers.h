/* Memory-mapped registers. */
#ifndef UHOST_REGISTERS_H
#define UHOST_REGISTERS_H

#include <stdint.h>

#define REGISTER(address) (*(volatile uint32_t *)(address))
#define BYTE_REGISTER(address) (*(volatile uint8_t *)(address))

#endif
