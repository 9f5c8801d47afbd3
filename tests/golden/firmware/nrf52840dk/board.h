/* nRF52840 DK (PCA10056), Nordic Semiconductor: what start-up and the HAL need of the board's data. */
#ifndef UHOST_BOARD_H
#define UHOST_BOARD_H

#define UHOST_CLOCK_HZ 64000000u
#define UHOST_RESET_CLOCK_HZ 64000000u

#define UHOST_HAS_FPU 1
#define UHOST_HAS_CACHES 0
#define UHOST_HAS_DWT 1

/* UARTE0, a nrf_uarte */
#define UHOST_CONSOLE_BASE 0x40002000u
#define UHOST_CONSOLE_IRQ 2u
#define UHOST_CONSOLE_BAUD 115200u
#define UHOST_CONSOLE_CLOCK_HZ 16000000u
#define UHOST_CONSOLE_RESET_CLOCK_HZ 16000000u
#define UHOST_RECEIVE_BYTES 4096u

/* The longest payload of a frame. */
#define UHOST_RPC_BUFFER_BYTES 2048u

#endif
