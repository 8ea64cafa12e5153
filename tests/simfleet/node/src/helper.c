/* One of the helper modules of the dkms build. */
#include <linux/module.h>

MODULE_DESCRIPTION("AMD DRM backport layer");
MODULE_LICENSE("GPL and additional rights");
MODULE_VERSION(DRIVER_VERSION_TEXT);
