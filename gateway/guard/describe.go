package guard

import "github.com/hookgate/hookgate/chain"

// Description documents what a guard does and does not do.
type Description struct {
	// Use is the guard's name in a hooks file.
	Use string
	// Events are the events at which it can deny or rewrite. At others it
	// allows.
	Events []chain.Event
	// Looks describes what it checks.
	Looks string
	// Answers describes its answers.
	Answers string
	// Misses lists what it does not detect.
	Misses []string
	// Options documents its options.
	Options []OptionDescription
}

// OptionDescription documents one option.
type OptionDescription struct {
	Name string
	// Type describes the type of a value.
	Type string
	// Default describes the default.
	Default string
	// Meaning describes the effect.
	Meaning string
	// Words lists the allowed values, if they are a closed set.
	Words []string
}

// Describe returns the description of a guard, and false if there is no such
// guard.
func Describe(use string) (Description, bool) {
	for _, k := range kinds() {
		if k.description.Use == use {
			return k.description, true
		}
	}
	return Description{}, false
}

// listOfTexts is the type of options that are lists of strings.
const listOfTexts = "list of texts"

func fieldsOption() OptionDescription {
	return OptionDescription{
		Name: "fields", Type: listOfTexts, Default: "none",
		Meaning: "names of further members of an input that hold a command line",
	}
}

// missedByReading lists what no guard that parses command lines can detect.
func missedByReading() []string {
	return []string{
		"a script that is written to a file first and run from there, and what a program that is run does itself",
		"code in other languages, such as python -c, perl -e or node -e",
		"a command that is spelled by a program or by a variable that the command line does not set",
		"wildcards, links and case that only the file system can resolve",
		"functions and loops whose argument decides what happens",
		"aliases, functions and settings that are there already",
		"what is typed into a terminal that is already open, and programs that run others and are not known to (docker exec, make, npm run)",
		"PowerShell and cmd.exe: what is not also Bash is denied where it could name what the guard looks for, and what is, is read as Bash",
	}
}

func describeDestructive() Description {
	return Description{
		Use: DestructiveShell, Events: []chain.Event{chain.PreToolUse},
		Looks:   "command lines in an input: command, cmd, command_line, script, commands and args, as text or as a list of arguments, at any depth; an input that is a plain text",
		Answers: "denies what destroys, and a command line that has one of the programs it is about and cannot be read",
		Misses:  append(missedByReading(), "clouds: aws, gcloud and az are not looked at"),
		Options: []OptionDescription{
			{
				Name: "except", Type: listOfTexts, Default: "none", Words: names(shellRules()),
				Meaning: "kinds of destruction that are let through",
			},
			fieldsOption(),
		},
	}
}

func describeNoForcePush() Description {
	return Description{
		Use: NoForcePush, Events: []chain.Event{chain.PreToolUse},
		Looks:   "command lines, as destructive-shell does; of a tool whose name holds push also the members force, force_with_lease and mirror",
		Answers: "denies git push with --force, -f, --force-with-lease, --mirror, --delete, --prune, +refspec and :branch",
		Misses: append(missedByReading(),
			"aliases and settings of git that are there already", "programs that push without git, such as jj or an editor"),
		Options: []OptionDescription{
			{Name: "allow_lease", Type: "true or false", Default: "false", Meaning: "lets --force-with-lease through"},
			{Name: "allow_deletes", Type: "true or false", Default: "false", Meaning: "lets --delete, --prune and :branch through"},
			fieldsOption(),
		},
	}
}

func describeProtectedPaths() Description {
	return Description{
		Use: ProtectedPaths, Events: []chain.Event{chain.PreToolUse},
		Looks:   "paths in an input (file_path, path, uri and their like, at any depth), files that a patch names, and in command lines redirections and the files that the usual programs change",
		Answers: "denies a change to what decides what runs later and with whose rights: keys, start-up files, hooks of git, the settings and hooks of agents, the system",
		Misses: append(missedByReading(),
			"links: a path is taken as it is written", "home directories that are not below /home, /Users or /root", "tools that name a file by another member"),
		Options: []OptionDescription{
			{
				Name: "paths", Type: listOfTexts, Default: "none",
				Meaning: "further paths that are protected with all below them: /from/root, ~/from/home or any/where; * stands for a part of a name",
			},
			{Name: "except", Type: listOfTexts, Default: "none", Words: defaultPaths(), Meaning: "built-in paths that are not protected"},
			fieldsOption(),
		},
	}
}
