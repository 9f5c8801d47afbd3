@ Routines for tests of the simulated Cortex-M7 (board mps2_an500). Reset runs the one whose
@ number a test wrote to `choice`; results go to `record`. No C: the tests know every
@ instruction.
    .syntax unified
    .cpu cortex-m7
    .fpu fpv5-sp-d16
    .thumb

    .equ UART, 0x40004000
    .equ NVIC_ISER, 0xE000E100
    .equ CPACR, 0xE000ED88
    .equ VTOR, 0xE000ED08
    .equ SHCSR, 0xE000ED24

    .macro function name
    .section .text.\name, "ax"
    .balign 4
    .global \name
    .type \name, %function
\name:
    .endm
    .macro done name
    .size \name, . - \name
    .endm

    .section .vectors, "a"
    .word stack_top
    .word reset
    .rept 5
    .word fault
    .endr
    .rept 4
    .word 0
    .endr
    .word supervisor
    .word 0
    .word 0
    .word fault
    .word fault
    .word uart_interrupt

    .section .bss, "aw", %nobits
    .global choice, record
choice: .space 4
received: .space 4
record: .space 128
    .space 1024
stack_top:
    .space 1024
thread_stack_top:

function reset
    ldr r0, =choice
    ldr r0, [r0]
    adr r1, table
    ldr pc, [r1, r0, lsl #2]
    .balign 4
table:
    .word echo, keeps_registers, calls_supervisor, unmasks_slowly, thread_stack
    .word fpu_is_off, reads_nowhere, jumps_nowhere, undefined, arm_code
    .word breakpoint, executes_data, no_vector, no_stack, crashes_twice
    .word endless, waits_for_event, counts, bus_fault_enabled, early_send, silent_fault
    .ltorg
done reset

@ Leaves r7 = UART base.
function start_uart
    ldr r7, =UART
    movs r0, #217
    str r0, [r7, #0x10]
    movs r0, #11
    str r0, [r7, #0x08]
    ldr r0, =NVIC_ISER
    movs r1, #1
    str r1, [r0]
    bx lr
    .ltorg
done start_uart

function fpu_on
    ldr r0, =CPACR
    ldr r1, =0x00F00000
    str r1, [r0]
    dsb
    isb
    bx lr
    .ltorg
done fpu_on

@ Takes one byte; destroys all that a handler may.
function uart_interrupt
    ldr r0, =UART
    ldr r1, [r0]
    ldr r2, =received
    str r1, [r2]
    mrs r1, ipsr
    str r1, [r2, #4]
    mov r1, sp
    str r1, [r2, #8]
    str lr, [r2, #12]
    vmrs r1, fpscr
    vmov s0, r0
    vmov s15, r0
    movs r3, #0
    cmp r3, #1
    mov r12, r3
    bx lr
    .ltorg
done uart_interrupt

@ Sends every byte back, incremented.
function echo
    bl start_uart
    ldr r6, =received
1:  cpsid i
    ldr r0, [r6]
    cbnz r0, 2f
    dsb
    wfi
2:  cpsie i
    ldr r0, [r6]
    cmp r0, #0
    beq 1b
    movs r1, #0
    str r1, [r6]
    adds r0, #1
    str r0, [r7]
    b 1b
    .ltorg
done echo

function keeps_registers
    bl fpu_on
    bl start_uart
    ldr r0, =0x3F800000
    vmov s0, r0
    vmov s15, r0
    movs r0, #1
    movs r1, #2
    movs r2, #3
    movs r3, #4
    movs r4, #5
    mov r12, r4
    mov lr, r4
    cmp r4, r4
    cpsie i
    wfi
    ite eq
    moveq r5, #1
    movne r5, #0
    ldr r6, =record + 16
    stm r6!, {r0-r5, r12, lr}
    vmov r0, s0
    vmov r1, s15
    mov r2, sp
    mrs r3, ipsr
    mrs r4, control
    stm r6!, {r0-r4}
    movs r0, #'.'
    str r0, [r7]
1:  wfi
    b 1b
    .ltorg
done keeps_registers

function calls_supervisor
    bl start_uart
    movs r0, #40
    svc #7
    ldr r6, =record + 16
    str r0, [r6]
    movs r0, #'.'
    str r0, [r7]
1:  wfi
    b 1b
    .ltorg
done calls_supervisor

@ Adds 2 to the caller's r0 in the frame.
function supervisor
    ldr r1, [sp]
    adds r1, #2
    str r1, [sp]
    bx lr
done supervisor

@ Counts in r4 what it executes between the sleep and the end of the mask.
function unmasks_slowly
    bl start_uart
    movs r4, #0
    cpsid i
    wfi
    adds r4, #1
    isb
    adds r4, #1
    movs r0, #0
    msr primask, r0
    adds r4, #16
    ldr r6, =record + 16
    str r4, [r6]
    movs r0, #'.'
    str r0, [r7]
1:  wfi
    b 1b
    .ltorg
done unmasks_slowly

@ Sleeps with the process stack, misaligned by a word.
function thread_stack
    bl start_uart
    ldr r0, =thread_stack_top - 4
    msr psp, r0
    movs r0, #2
    msr control, r0
    isb
    cpsie i
    wfi
    mov r1, sp
    ldr r6, =record + 16
    str r1, [r6]
    mrs r1, control
    str r1, [r6, #4]
    movs r0, #'.'
    str r0, [r7]
1:  wfi
    b 1b
    .ltorg
done thread_stack

function fpu_is_off
    vmov s0, r0
1:  wfi
    b 1b
done fpu_is_off

@ Records the frame, the exception number and the status registers, and says so.
function fault
    mov r4, sp
    mrs r0, ipsr
    ldr r1, =SHCSR + 4
    ldr r2, [r1]
    ldr r3, [r1, #4]
    ldr r5, [r1, #16]
    ldr r6, =record
    stm r6!, {r0, r2, r3, r5}
    ldr r0, [r4, #24]
    ldr r1, [r4, #28]
    mov r2, lr
    ldr r3, [r4]
    stm r6!, {r0-r3}
    movs r0, #'F'
    ldr r7, =UART
    str r0, [r7]
1:  wfi
    b 1b
    .ltorg
done fault

    .macro crashing name
function \name
    bl start_uart
    movs r0, #123
    .endm

crashing reads_nowhere
    ldr r1, =0x30000004
    .global reads_nowhere_at
reads_nowhere_at:
    ldr r2, [r1]
    .ltorg
done reads_nowhere

crashing jumps_nowhere
    ldr r1, =0x30000001
    blx r1
    .ltorg
done jumps_nowhere

crashing undefined
    udf #1
done undefined

crashing arm_code
    ldr r1, =reset
    bics r1, r1, #1
    blx r1
    .ltorg
done arm_code

crashing breakpoint
    bkpt #1
done breakpoint

crashing executes_data
    ldr r1, =0x40000001
    blx r1
    .ltorg
done executes_data

crashing no_vector
    ldr r1, =VTOR
    ldr r2, =0x00100000
    str r2, [r1]
    udf #1
    .ltorg
done no_vector

@ A stack that grew out of memory.
crashing no_stack
    ldr r1, =0x20000004
    mov sp, r1
    push {r0-r3}
    .ltorg
done no_stack

@ The handler of the second vector table is no code.
crashing crashes_twice
    ldr r1, =VTOR
    ldr r2, =second_vectors
    str r2, [r1]
    udf #1
    .ltorg
done crashes_twice

function crashing_handler
    udf #2
done crashing_handler

function endless
    b endless
done endless

function waits_for_event
    bl start_uart
    movs r0, #'E'
    str r0, [r7]
1:  wfe
    b 1b
done waits_for_event

function bus_fault_enabled
    bl start_uart
    ldr r0, =SHCSR
    mov r1, #0x20000
    str r1, [r0]
    ldr r1, =0x30000004
    ldr r2, [r1]
    .ltorg
done bus_fault_enabled

@ Crashes before the UART is ready: the handler cannot report.
function early_send
    udf #3
done early_send

@ Crashes with a handler that only sleeps.
crashing silent_fault
    ldr r1, =VTOR
    ldr r2, =silent_vectors
    str r2, [r1]
    udf #4
    .ltorg
done silent_fault

function silent_handler
1:  wfi
    b 1b
done silent_handler

    .section .rodata.vectors, "a"
    .balign 256
second_vectors:
    .rept 16
    .word crashing_handler
    .endr
    .balign 256
silent_vectors:
    .rept 16
    .word silent_handler
    .endr

@ ---- What the counter is tested with ------------------------------------------------------

@ Runs `watched` once per received byte, then sends a dot.
function counts
    bl fpu_on
    bl start_uart
    ldr r6, =received
1:  cpsid i
    ldr r0, [r6]
    cbnz r0, 2f
    wfi
2:  cpsie i
    ldr r0, [r6]
    cmp r0, #0
    beq 1b
    movs r1, #0
    str r1, [r6]
    bl watched
    ldr r6, =received
    ldr r7, =UART
    movs r0, #'.'
    str r0, [r7]
    b 1b
    .ltorg
done counts

@ Own instructions: 3 before the first call, 2 before the second, 1 before the third,
@ 3 before the last, which is a tail call; one of them makes an exception.
function watched
    push {r4, lr}
    movs r0, #100
    bl looped
    movs r0, #5
    bl recursive
    bl long_and_conditional
    svc #1
    pop {r4, lr}
    b.w tail
done watched

@ 2 + 100 * 3 + 1 instructions
function looped
    movs r1, #0
    nop
1:  adds r1, r1, r0
    subs r0, #1
    bne 1b
    bx lr
done looped

@ n < 2: 3 instructions; else 9 and those of two calls
function recursive
    cmp r0, #2
    bhs 1f
    bx lr
1:  push {r4, lr}
    subs r4, r0, #1
    subs r0, #2
    bl recursive
    mov r0, r4
    pop {r4, lr}
    b recursive
done recursive

@ 1600 instructions of both sizes over several pages, an IT block with a skipped half, a
@ floating-point operation, and the return: 1607
function long_and_conditional
    .rept 800
    add.w r1, r1, r0
    eors r1, r0
    .endr
    cmp r0, r0
    itte ne
    movne r1, #1
    addne r1, #1
    moveq r1, #2
    vadd.f32 s0, s0, s0
    bx lr
done long_and_conditional

@ 3 instructions
function tail
    movs r0, #1
    nop
    bx lr
done tail
