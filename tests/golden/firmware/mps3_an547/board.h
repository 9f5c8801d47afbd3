/* Arm MPS3 with the FPGA image AN547 (Corstone-300), QEMU machine mps3-an547: what start-up and the HAL need of the board's data. */
#ifndef UHOST_BOARD_H
#define UHOST_BOARD_H

#define UHOST_CLOCK_HZ 32000000u
#define UHOST_RESET_CLOCK_HZ 32000000u

#define UHOST_HAS_FPU 1
#define UHOST_HAS_CACHES 0
#define UHOST_HAS_DWT 1

/* UART0, a cmsdk_apb_uart */
#define UHOST_CONSOLE_BASE 0x59303000u
#define UHOST_CONSOLE_IRQ 33u
#define UHOST_CONSOLE_BAUD 115200u
#define UHOST_CONSOLE_CLOCK_HZ 25000000u
#define UHOST_CONSOLE_RESET_CLOCK_HZ 25000000u
#define UHOST_RECEIVE_BYTES 4096u

/* The longest payload of a frame. */
#define UHOST_RPC_BUFFER_BYTES 2048u

#endif
