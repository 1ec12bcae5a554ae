/* view.h - fills in data/cluster_view.h. */
#pragma once

void viewInit(void);
