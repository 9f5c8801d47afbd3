/* QEMU machine virt with a 32-bit RISC-V (RV32IMC): what start-up and the HAL need of the board's data. */
#ifndef UHOST_BOARD_H
#define UHOST_BOARD_H

#define UHOST_CLOCK_HZ 1000000000u
#define UHOST_RESET_CLOCK_HZ 1000000000u

#define UHOST_HAS_FPU 0
#define UHOST_HAS_CACHES 0
#define UHOST_HAS_DWT 0

#define UHOST_FLASH_START 0x80000000u
#define UHOST_FLASH_BYTES 16777216u
#define UHOST_PLIC_BASE 0x0C000000u

/* uart0, a ns16550 */
#define UHOST_CONSOLE_BASE 0x10000000u
#define UHOST_CONSOLE_IRQ 10u
#define UHOST_CONSOLE_BAUD 115200u
#define UHOST_CONSOLE_CLOCK_HZ 3686400u
#define UHOST_CONSOLE_RESET_CLOCK_HZ 3686400u
#define UHOST_RECEIVE_BYTES 4096u

/* The longest payload of a frame. */
#define UHOST_RPC_BUFFER_BYTES 2048u

#endif
