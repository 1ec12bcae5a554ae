/* module.h - MODULE. */
#pragma once

void moduleInit(void); /* commands */
