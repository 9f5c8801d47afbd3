/* BBC micro:bit v1 (nRF51822), QEMU machine microbit: what start-up and the HAL need of the board's data. */
#ifndef UHOST_BOARD_H
#define UHOST_BOARD_H

#define UHOST_CLOCK_HZ 16000000u
#define UHOST_RESET_CLOCK_HZ 16000000u

#define UHOST_HAS_FPU 0
#define UHOST_HAS_CACHES 0
#define UHOST_HAS_DWT 0

/* UART0, a nrf_uart */
#define UHOST_CONSOLE_BASE 0x40002000u
#define UHOST_CONSOLE_IRQ 2u
#define UHOST_CONSOLE_BAUD 115200u
#define UHOST_CONSOLE_CLOCK_HZ 16000000u
#define UHOST_CONSOLE_RESET_CLOCK_HZ 16000000u
#define UHOST_RECEIVE_BYTES 1024u

/* The longest payload of a frame. */
#define UHOST_RPC_BUFFER_BYTES 512u

#endif
