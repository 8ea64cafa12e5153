/* A module with the name of the real one and nothing inside. */
#include <linux/init.h>
#include <linux/module.h>

static int reset_method = -1;
module_param(reset_method, int, 0444);
MODULE_PARM_DESC(reset_method, "GPU reset method (-1 = auto (default), 0 = legacy, 1 = mode0, 2 = mode1, 3 = mode2, 4 = baco)");

static int __init amdgpu_init(void)
{
	return 0;
}

static void __exit amdgpu_exit(void)
{
}

module_init(amdgpu_init);
module_exit(amdgpu_exit);
MODULE_AUTHOR("AMD linux driver team");
MODULE_DESCRIPTION("AMD GPU");
MODULE_LICENSE("GPL and additional rights");
#ifdef DRIVER_VERSION_TEXT
MODULE_VERSION(DRIVER_VERSION_TEXT);
#endif
