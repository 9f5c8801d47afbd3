/* MIMXRT1050-EVKB, NXP, with its HyperFlash: vector table and start-up steps, from the board's data. */
#include "console.h"
#include "steps.h"
#include "vectors.h"

__attribute__((section(".vectors"), used))
const union uhost_vector uhost_vectors[176] = {
    {.stack = uhost_stack_top},
    {.handler = uhost_reset},
    {.handler = uhost_fault_entry}, /* NMI */
    {.handler = uhost_fault_entry}, /* hard fault */
    {.handler = uhost_fault_entry}, /* memory fault */
    {.handler = uhost_fault_entry}, /* bus fault */
    {.handler = uhost_fault_entry}, /* usage fault */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* SVCall */
    {.handler = uhost_fault_entry}, /* debug monitor */
    {.handler = uhost_fault_entry}, /* reserved */
    {.handler = uhost_fault_entry}, /* PendSV */
    {.handler = uhost_fault_entry}, /* SysTick */
    {.handler = uhost_fault_entry}, /* 0 */
    {.handler = uhost_fault_entry}, /* 1 */
    {.handler = uhost_fault_entry}, /* 2 */
    {.handler = uhost_fault_entry}, /* 3 */
    {.handler = uhost_fault_entry}, /* 4 */
    {.handler = uhost_fault_entry}, /* 5 */
    {.handler = uhost_fault_entry}, /* 6 */
    {.handler = uhost_fault_entry}, /* 7 */
    {.handler = uhost_fault_entry}, /* 8 */
    {.handler = uhost_fault_entry}, /* 9 */
    {.handler = uhost_fault_entry}, /* 10 */
    {.handler = uhost_fault_entry}, /* 11 */
    {.handler = uhost_fault_entry}, /* 12 */
    {.handler = uhost_fault_entry}, /* 13 */
    {.handler = uhost_fault_entry}, /* 14 */
    {.handler = uhost_fault_entry}, /* 15 */
    {.handler = uhost_fault_entry}, /* 16 */
    {.handler = uhost_fault_entry}, /* 17 */
    {.handler = uhost_fault_entry}, /* 18 */
    {.handler = uhost_fault_entry}, /* 19 */
    {.handler = uhost_console_interrupt}, /* 20: LPUART1 */
    {.handler = uhost_fault_entry}, /* 21 */
    {.handler = uhost_fault_entry}, /* 22 */
    {.handler = uhost_fault_entry}, /* 23 */
    {.handler = uhost_fault_entry}, /* 24 */
    {.handler = uhost_fault_entry}, /* 25 */
    {.handler = uhost_fault_entry}, /* 26 */
    {.handler = uhost_fault_entry}, /* 27 */
    {.handler = uhost_fault_entry}, /* 28 */
    {.handler = uhost_fault_entry}, /* 29 */
    {.handler = uhost_fault_entry}, /* 30 */
    {.handler = uhost_fault_entry}, /* 31 */
    {.handler = uhost_fault_entry}, /* 32 */
    {.handler = uhost_fault_entry}, /* 33 */
    {.handler = uhost_fault_entry}, /* 34 */
    {.handler = uhost_fault_entry}, /* 35 */
    {.handler = uhost_fault_entry}, /* 36 */
    {.handler = uhost_fault_entry}, /* 37 */
    {.handler = uhost_fault_entry}, /* 38 */
    {.handler = uhost_fault_entry}, /* 39 */
    {.handler = uhost_fault_entry}, /* 40 */
    {.handler = uhost_fault_entry}, /* 41 */
    {.handler = uhost_fault_entry}, /* 42 */
    {.handler = uhost_fault_entry}, /* 43 */
    {.handler = uhost_fault_entry}, /* 44 */
    {.handler = uhost_fault_entry}, /* 45 */
    {.handler = uhost_fault_entry}, /* 46 */
    {.handler = uhost_fault_entry}, /* 47 */
    {.handler = uhost_fault_entry}, /* 48 */
    {.handler = uhost_fault_entry}, /* 49 */
    {.handler = uhost_fault_entry}, /* 50 */
    {.handler = uhost_fault_entry}, /* 51 */
    {.handler = uhost_fault_entry}, /* 52 */
    {.handler = uhost_fault_entry}, /* 53 */
    {.handler = uhost_fault_entry}, /* 54 */
    {.handler = uhost_fault_entry}, /* 55 */
    {.handler = uhost_fault_entry}, /* 56 */
    {.handler = uhost_fault_entry}, /* 57 */
    {.handler = uhost_fault_entry}, /* 58 */
    {.handler = uhost_fault_entry}, /* 59 */
    {.handler = uhost_fault_entry}, /* 60 */
    {.handler = uhost_fault_entry}, /* 61 */
    {.handler = uhost_fault_entry}, /* 62 */
    {.handler = uhost_fault_entry}, /* 63 */
    {.handler = uhost_fault_entry}, /* 64 */
    {.handler = uhost_fault_entry}, /* 65 */
    {.handler = uhost_fault_entry}, /* 66 */
    {.handler = uhost_fault_entry}, /* 67 */
    {.handler = uhost_fault_entry}, /* 68 */
    {.handler = uhost_fault_entry}, /* 69 */
    {.handler = uhost_fault_entry}, /* 70 */
    {.handler = uhost_fault_entry}, /* 71 */
    {.handler = uhost_fault_entry}, /* 72 */
    {.handler = uhost_fault_entry}, /* 73 */
    {.handler = uhost_fault_entry}, /* 74 */
    {.handler = uhost_fault_entry}, /* 75 */
    {.handler = uhost_fault_entry}, /* 76 */
    {.handler = uhost_fault_entry}, /* 77 */
    {.handler = uhost_fault_entry}, /* 78 */
    {.handler = uhost_fault_entry}, /* 79 */
    {.handler = uhost_fault_entry}, /* 80 */
    {.handler = uhost_fault_entry}, /* 81 */
    {.handler = uhost_fault_entry}, /* 82 */
    {.handler = uhost_fault_entry}, /* 83 */
    {.handler = uhost_fault_entry}, /* 84 */
    {.handler = uhost_fault_entry}, /* 85 */
    {.handler = uhost_fault_entry}, /* 86 */
    {.handler = uhost_fault_entry}, /* 87 */
    {.handler = uhost_fault_entry}, /* 88 */
    {.handler = uhost_fault_entry}, /* 89 */
    {.handler = uhost_fault_entry}, /* 90 */
    {.handler = uhost_fault_entry}, /* 91 */
    {.handler = uhost_fault_entry}, /* 92 */
    {.handler = uhost_fault_entry}, /* 93 */
    {.handler = uhost_fault_entry}, /* 94 */
    {.handler = uhost_fault_entry}, /* 95 */
    {.handler = uhost_fault_entry}, /* 96 */
    {.handler = uhost_fault_entry}, /* 97 */
    {.handler = uhost_fault_entry}, /* 98 */
    {.handler = uhost_fault_entry}, /* 99 */
    {.handler = uhost_fault_entry}, /* 100 */
    {.handler = uhost_fault_entry}, /* 101 */
    {.handler = uhost_fault_entry}, /* 102 */
    {.handler = uhost_fault_entry}, /* 103 */
    {.handler = uhost_fault_entry}, /* 104 */
    {.handler = uhost_fault_entry}, /* 105 */
    {.handler = uhost_fault_entry}, /* 106 */
    {.handler = uhost_fault_entry}, /* 107 */
    {.handler = uhost_fault_entry}, /* 108 */
    {.handler = uhost_fault_entry}, /* 109 */
    {.handler = uhost_fault_entry}, /* 110 */
    {.handler = uhost_fault_entry}, /* 111 */
    {.handler = uhost_fault_entry}, /* 112 */
    {.handler = uhost_fault_entry}, /* 113 */
    {.handler = uhost_fault_entry}, /* 114 */
    {.handler = uhost_fault_entry}, /* 115 */
    {.handler = uhost_fault_entry}, /* 116 */
    {.handler = uhost_fault_entry}, /* 117 */
    {.handler = uhost_fault_entry}, /* 118 */
    {.handler = uhost_fault_entry}, /* 119 */
    {.handler = uhost_fault_entry}, /* 120 */
    {.handler = uhost_fault_entry}, /* 121 */
    {.handler = uhost_fault_entry}, /* 122 */
    {.handler = uhost_fault_entry}, /* 123 */
    {.handler = uhost_fault_entry}, /* 124 */
    {.handler = uhost_fault_entry}, /* 125 */
    {.handler = uhost_fault_entry}, /* 126 */
    {.handler = uhost_fault_entry}, /* 127 */
    {.handler = uhost_fault_entry}, /* 128 */
    {.handler = uhost_fault_entry}, /* 129 */
    {.handler = uhost_fault_entry}, /* 130 */
    {.handler = uhost_fault_entry}, /* 131 */
    {.handler = uhost_fault_entry}, /* 132 */
    {.handler = uhost_fault_entry}, /* 133 */
    {.handler = uhost_fault_entry}, /* 134 */
    {.handler = uhost_fault_entry}, /* 135 */
    {.handler = uhost_fault_entry}, /* 136 */
    {.handler = uhost_fault_entry}, /* 137 */
    {.handler = uhost_fault_entry}, /* 138 */
    {.handler = uhost_fault_entry}, /* 139 */
    {.handler = uhost_fault_entry}, /* 140 */
    {.handler = uhost_fault_entry}, /* 141 */
    {.handler = uhost_fault_entry}, /* 142 */
    {.handler = uhost_fault_entry}, /* 143 */
    {.handler = uhost_fault_entry}, /* 144 */
    {.handler = uhost_fault_entry}, /* 145 */
    {.handler = uhost_fault_entry}, /* 146 */
    {.handler = uhost_fault_entry}, /* 147 */
    {.handler = uhost_fault_entry}, /* 148 */
    {.handler = uhost_fault_entry}, /* 149 */
    {.handler = uhost_fault_entry}, /* 150 */
    {.handler = uhost_fault_entry}, /* 151 */
    {.handler = uhost_fault_entry}, /* 152 */
    {.handler = uhost_fault_entry}, /* 153 */
    {.handler = uhost_fault_entry}, /* 154 */
    {.handler = uhost_fault_entry}, /* 155 */
    {.handler = uhost_fault_entry}, /* 156 */
    {.handler = uhost_fault_entry}, /* 157 */
    {.handler = uhost_fault_entry}, /* 158 */
    {.handler = uhost_fault_entry}, /* 159 */
};

const struct uhost_step uhost_clock_steps[] = {
    {UHOST_STEP_WRITE, 0xE000E010u, 0xFFFFFFFFu, 0x00000000u}, /* SYST_CSR */
    {UHOST_STEP_WRITE, 0x400BC004u, 0xFFFFFFFFu, 0xD928C520u}, /* RTWDOG_CNT */
    {UHOST_STEP_WRITE, 0x400BC008u, 0xFFFFFFFFu, 0x0000FFFFu}, /* RTWDOG_TOVAL */
    {UHOST_STEP_MODIFY, 0x400BC000u, 0x000000A0u, 0x00000020u}, /* RTWDOG_CS */
    {UHOST_STEP_MODIFY, 0x4008000Cu, 0x0000001Fu, 0x00000013u}, /* DCDC_REG3 */
    {UHOST_STEP_WAIT, 0x40080000u, 0x80000000u, 0x80000000u}, /* DCDC_REG0 */
    {UHOST_STEP_MODIFY, 0x400FC018u, 0x00003000u, 0x00001000u}, /* CCM_CBCMR */
    {UHOST_STEP_SET, 0x400FC014u, 0x02000000u, 0x02000000u}, /* CCM_CBCDR */
    {UHOST_STEP_WAIT, 0x400FC048u, 0x00000020u, 0x00000000u}, /* CCM_CDHIPR */
    {UHOST_STEP_WRITE, 0x400D8000u, 0xFFFFFFFFu, 0x00002064u}, /* CCM_ANALOG_PLL_ARM */
    {UHOST_STEP_WAIT, 0x400D8000u, 0x80000000u, 0x80000000u}, /* CCM_ANALOG_PLL_ARM */
    {UHOST_STEP_WRITE, 0x400FC010u, 0xFFFFFFFFu, 0x00000001u}, /* CCM_CACRR */
    {UHOST_STEP_MODIFY, 0x400FC018u, 0x000C0000u, 0x000C0000u}, /* CCM_CBCMR */
    {UHOST_STEP_MODIFY, 0x400FC014u, 0x00001F00u, 0x00000300u}, /* CCM_CBCDR */
    {UHOST_STEP_CLEAR, 0x400FC014u, 0x02000000u, 0x00000000u}, /* CCM_CBCDR */
    {UHOST_STEP_WAIT, 0x400FC048u, 0x00000020u, 0x00000000u}, /* CCM_CDHIPR */
    {UHOST_STEP_END, 0, 0, 0},
};

const struct uhost_step uhost_console_steps[] = {
    {UHOST_STEP_MODIFY, 0x400FC024u, 0x0000007Fu, 0x00000040u}, /* CCM_CSCDR1 */
    {UHOST_STEP_SET, 0x400FC07Cu, 0x03000000u, 0x03000000u}, /* CCM_CCGR5 */
    {UHOST_STEP_WRITE, 0x401F80ECu, 0xFFFFFFFFu, 0x00000002u}, /* MUX_GPIO_AD_B0_12 */
    {UHOST_STEP_WRITE, 0x401F80F0u, 0xFFFFFFFFu, 0x00000002u}, /* MUX_GPIO_AD_B0_13 */
    {UHOST_STEP_WRITE, 0x401F82DCu, 0xFFFFFFFFu, 0x000010B0u}, /* PAD_GPIO_AD_B0_12 */
    {UHOST_STEP_WRITE, 0x401F82E0u, 0xFFFFFFFFu, 0x000010B0u}, /* PAD_GPIO_AD_B0_13 */
    {UHOST_STEP_END, 0, 0, 0},
};
