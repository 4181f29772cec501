package history

// indexSuffix is added to the history's name.
const indexSuffix = ".index"
