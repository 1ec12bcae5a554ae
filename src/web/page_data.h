/* SPDX-License-Identifier: BSD-3-Clause */
/* page_data.h - the page for people: page.html, page.css and page.js, which the build turns into C
 * (utils/embed). The stylesheet is inserted before </style>, the script before </script>. */
#pragma once

#include "base/str.h"

extern const struct str page_html, page_css, page_js;
