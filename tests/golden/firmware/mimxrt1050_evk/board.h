/* MIMXRT1050-EVKB, NXP, with its HyperFlash: what start-up and the HAL need of the board's data. */
#ifndef UHOST_BOARD_H
#define UHOST_BOARD_H

#define UHOST_CLOCK_HZ 600000000u
#define UHOST_RESET_CLOCK_HZ 396000000u

#define UHOST_HAS_FPU 1
#define UHOST_HAS_CACHES 1
#define UHOST_HAS_DWT 1

/* LPUART1, a nxp_lpuart */
#define UHOST_CONSOLE_BASE 0x40184000u
#define UHOST_CONSOLE_IRQ 20u
#define UHOST_CONSOLE_BAUD 115200u
#define UHOST_CONSOLE_CLOCK_HZ 24000000u
#define UHOST_CONSOLE_RESET_CLOCK_HZ 24000000u
#define UHOST_RECEIVE_BYTES 4096u

/* The longest payload of a frame. */
#define UHOST_RPC_BUFFER_BYTES 2048u

#endif
