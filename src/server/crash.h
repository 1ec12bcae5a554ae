/* crash.h - the crash report: what operators need when the server dies by a signal or a failed assertion. */
#pragma once

void crashInit(void); /* installs the handlers; directive crash-log-enabled is registered by crashRegister */
void crashRegister(void);
