package guard

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hookgate/hookgate/gateway/guard/internal/shell"
)

func diskWords() []string {
	return []string{
		"/dev/", "mkfs", "mke2fs", "mkswap", "wipefs", "blkdiscard", "shred", "sfdisk", "sgdisk", "parted", "diskutil",
		"cryptsetup", "zpool", "zfs", "lvremove", "vgremove", "pvremove", "hdparm", "nvme",
	}
}

// writesDisk objects to commands that overwrite a disk, or that erase its
// partition table, volumes or encryption keys.
func writesDisk(c shellCall) string {
	for _, w := range c.Writes {
		if isDisk(w) {
			return fmt.Sprintf("it writes over the disk %s", w.Text)
		}
	}
	switch {
	case c.Name == "dd":
		for _, w := range c.Args {
			if target, ok := strings.CutPrefix(w.Text, "of="); ok && isDisk(shell.Word{Text: target, Unset: w.Unset}) {
				return fmt.Sprintf("dd writes over the disk %s", target)
			}
		}
	case c.Name == "tee" || c.Name == "shred" || c.Name == "blkdiscard":
		operands := argumentsOf(c.Args).operands
		if disk := slices.IndexFunc(operands, isDisk); disk >= 0 {
			return fmt.Sprintf("%s writes over the disk %s", c.Name, operands[disk].Text)
		}
	case c.Name == "cp" || c.Name == "mv":
		operands := argumentsOf(c.Args).operands
		if last := len(operands) - 1; last > 0 && isDisk(operands[last]) {
			return fmt.Sprintf("%s writes over the disk %s", c.Name, operands[last].Text)
		}
	case c.Name == "mke2fs" || c.Name == "mkswap" || strings.HasPrefix(c.Name, "mkfs"):
		return formats(c.Name, argumentsOf(c.Args))
	case slices.Contains(diskWords(), c.Name):
		args := argumentsOf(c.Args)
		if forgets(c.Name, args, slices.ContainsFunc(args.operands, isDisk)) {
			return fmt.Sprintf("%s erases a disk or a volume", c.Name)
		}
	}
	return ""
}

// formats objects to creating a file system, unless it is created in a regular
// file.
func formats(name string, args arguments) string {
	for _, w := range args.operands {
		if isDisk(w) || w.Text == "" && w.Unset != "" || strings.HasPrefix(w.Text, shell.Opaque) {
			return fmt.Sprintf("%s formats a disk", name)
		}
	}
	return ""
}

// forgets reports whether a disk tool is told to erase.
func forgets(name string, args arguments, disk bool) bool {
	switch name {
	case "wipefs":
		return args.short("ao") || args.long("all") || args.long("offset")
	case "sfdisk":
		return disk && !args.short("ldJFsV") && !args.long("list") && !args.long("dump") && !args.long("json")
	case "sgdisk":
		return args.short("Zzod") || args.long("zap") || args.long("zap-all") || args.long("clear") || args.long("delete")
	case "parted":
		return args.names("mklabel", "mktable", "mkpart", "rm", "resizepart")
	case "diskutil":
		return args.names("erasedisk", "erasevolume", "zerodisk", "randomdisk", "secureerase", "partitiondisk",
			"reformat", "deletecontainer", "deletevolume")
	case "cryptsetup":
		return args.names("luksformat", "erase", "lukserase", "reencrypt")
	case "zpool":
		return args.names("destroy", "labelclear")
	case "zfs":
		return args.names("destroy")
	case "lvremove", "vgremove", "pvremove":
		return true
	case "hdparm":
		return args.long("security-erase") || args.long("security-erase-enhanced") || args.long("trim-sector-ranges")
	case "nvme":
		return args.names("format", "sanitize")
	}
	return false
}

// isDisk reports whether a word names a disk, a partition or the memory device.
func isDisk(w shell.Word) bool {
	name, ok := strings.CutPrefix(w.Text, "/dev/")
	if !ok {
		return false
	}
	if name == "" {
		return w.Unset != ""
	}
	if name[0] == '*' || name[0] == '?' || name[0] == '[' || strings.HasPrefix(name, shell.Opaque) {
		return true
	}
	for _, disk := range []string{
		"sd", "hd", "vd", "xvd", "nvme", "mmcblk", "disk", "rdisk", "md", "dm-", "mapper/", "loop", "nbd", "zd", "pmem",
		"ram", "mtd", "ubi", "block/", "mem", "kmem", "port",
	} {
		if strings.HasPrefix(name, disk) {
			return true
		}
	}
	return false
}
