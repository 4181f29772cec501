package nodeconfig

import "path/filepath"

// checkLogDirs judges those of the i-th broker; seen has those before.
func (c *Config) checkLogDirs(i int, seen map[string]bool, fault faults) {
	for j, dir := range c.Brokers[i].LogDirs {
		at := c.Path(dir)
		fault(dir == "", "brokers[%d].logDirs[%d] is empty: give a directory", i, j)
		fault(dir != "" && seen[at], "brokers[%d].logDirs[%d] %s is used twice: give each a directory of its own", i, j, dir)
		seen[at] = true
	}
}

// Path is where a file or directory of the node is that the configuration names.
func (c *Config) Path(name string) string {
	if filepath.IsAbs(name) {
		return filepath.Clean(name)
	}
	return filepath.Join(c.DataDir, name)
}
