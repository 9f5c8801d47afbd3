*** Settings ***
Documentation     The firmware built by uhost for NUCLEO-F746ZG, STMicroelectronics.
...               Run it with: renode-test uhost.robot
Suite Setup       Setup
Suite Teardown    Teardown
Test Setup        Reset Emulation
Test Teardown     Test Teardown
Test Timeout      5 minutes
Resource          ${RENODEKEYWORDS}

*** Variables ***
${SCRIPT}         ${CURDIR}/uhost.resc
${UART}           sysbus.usart3
@{HELLO}          0x00    0x04    0x01    0x01    0x01    0x02    0x01    0x05    0x92    0x0D    0x59    0xE6    0x00
@{RUN_0}          0x00    0x04    0x01    0x06    0x01    0x02    0x02    0x01    0x05    0x09    0xCA    0xA6    0xD3    0x00
@{MODEL_0}        0x00    0x04    0x01    0x02    0x01    0x02    0x03    0x01    0x05    0x28    0xE2    0xF5    0x49    0x00
@{RUN_1}          0x00    0x04    0x01    0x06    0x01    0x02    0x02    0x06    0x01    0x9F    0xFA    0xA1    0xA4    0x00
@{MODEL_1}        0x00    0x04    0x01    0x02    0x01    0x02    0x03    0x06    0x01    0xBE    0xD2    0xF2    0x3E    0x00

*** Keywords ***
Start Firmware
    Execute Script            ${SCRIPT}
    Create Terminal Tester    ${UART}    timeout=60
    Create Log Tester         60

Send
    [Arguments]    @{bytes}
    FOR    ${byte}    IN    @{bytes}
        Execute Command    ${UART} WriteChar ${byte}
    END

Should Answer
    [Documentation]    A frame ends without a line end, so the line may be unfinished.
    [Arguments]    ${pattern}
    Wait For Line On Uart    ${pattern}    includeUnfinishedLine=true    treatAsRegex=true

*** Test Cases ***
Firmware Tells Its Build
    Start Firmware
    Start Emulation
    Send    @{HELLO}
    Should Answer    .*0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.*

Model kws Runs
    [Documentation]    It is called, and the firmware answers the next request after it.
    Start Firmware
    Execute Command    cpu AddHook `sysbus GetSymbolAddress "kws_run"` "self.InfoLog('uhost: kws_run is called')"
    Start Emulation
    Send    @{HELLO}
    Should Answer    .*0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.*
    Send    @{RUN_0}
    Wait For Log Entry    uhost: kws_run is called
    Send    @{MODEL_0}
    Should Answer    .*kws.*

Model digits Runs
    [Documentation]    It is called, and the firmware answers the next request after it.
    Start Firmware
    Execute Command    cpu AddHook `sysbus GetSymbolAddress "digits_run"` "self.InfoLog('uhost: digits_run is called')"
    Start Emulation
    Send    @{HELLO}
    Should Answer    .*0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef.*
    Send    @{RUN_1}
    Wait For Log Entry    uhost: digits_run is called
    Send    @{MODEL_1}
    Should Answer    .*digits.*
