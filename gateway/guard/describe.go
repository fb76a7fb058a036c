package guard

import "github.com/hookgate/hookgate/chain"

// Description tells people what a guard does and what it does not do.
type Description struct {
	// Use names the guard in a hooks file.
	Use string
	// Events are those at which it has something to say. At others it allows.
	Events []chain.Event
	// Looks is what it looks at.
	Looks string
	// Answers is what it answers.
	Answers string
	// Misses are things that it does not see.
	Misses []string
	// Options are its options.
	Options []OptionDescription
}

// OptionDescription tells what one option is.
type OptionDescription struct {
	Name string
	// Type is what a value looks like.
	Type string
	// Default is what holds where the option is not given.
	Default string
	// Meaning is what it changes.
	Meaning string
	// Words are the texts that it may hold, if they are a closed set.
	Words []string
}

// Describe returns the description of a guard, and false where there is none of
// that name.
func Describe(use string) (Description, bool) {
	for _, k := range kinds() {
		if k.description.Use == use {
			return k.description, true
		}
	}
	return Description{}, false
}

// listOfTexts is the type of options that are lists.
const listOfTexts = "list of texts"

func fieldsOption() OptionDescription {
	return OptionDescription{
		Name: "fields", Type: listOfTexts, Default: "none",
		Meaning: "names of further members of an input that hold a command line",
	}
}

// missedByReading is what no guard sees that reads command lines.
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
