#!/bin/sh
# Runs as pid 1 of a node's namespaces, still on the host's root: mounts what belongs to this boot, turns the node's
# tree into the root and becomes the node's init. Arguments: root, directory of prepared files, host name, command.
set -e
root=$1 files=$2 name=$3
shift 3
mount -t proc proc "$root/proc"
mount --bind "$files/sys" "$root/proc/sys"
mount --bind /proc/sys/kernel/random/uuid "$root/proc/sys/kernel/random/uuid"
for file in cmdline cpuinfo modules version; do
    if [ -e "$root/proc/$file" ] && [ -e "$files/$file" ]; then mount --bind "$files/$file" "$root/proc/$file"; fi
done
for file in sysrq-trigger kcore kallsyms kmsg; do
    if [ -e "$root/proc/$file" ]; then mount --bind /dev/null "$root/proc/$file"; fi
done
mkdir -p "$root/dev/pts" "$root/dev/shm"
mount -t devpts -o newinstance,ptmxmode=0666,mode=620,gid=5 devpts "$root/dev/pts"
mount -t tmpfs -o size=64m tmpfs "$root/dev/shm"
hostname "$name"
cd "$root"
pivot_root . mnt
umount -l /mnt
exec env -i PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 TERM=dumb \
    setpriv --bounding-set=-sys_module,-sys_rawio,-sys_boot,-sys_time,-syslog /usr/bin/tini -g -- "$@"
