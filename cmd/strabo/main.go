// Command strabo checks protocols written in the Langshaw language, and more with each subcommand. It knows flags,
// files, processes and printing; the rules are in the packages it calls. Start reading at run, then at one of the
// commands, each of which has a file of its own.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"reflect"
	"runtime/debug"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"github.com/strabo-engine/strabo/cmd/strabo/internal/story"
	"github.com/strabo-engine/strabo/syncserver"

	"github.com/strabo-engine/strabo/bridge/approval/natsapproval"
)

func main() { os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) }

// commandLine lists the commands: to add one, add a field whose type has Run(context.Context, *streams) error and
// examples() string.
type commandLine struct {
	commonFlags

	Check    checkCommand    `cmd:"" help:"Report what is wrong with protocols."`
	Verify   verifyCommand   `cmd:"" help:"Prove protocols live and safe, and answer questions about them."`
	Explain  explainCommand  `cmd:"" help:"Say in sentences what a protocol means."`
	Fmt      fmtCommand      `cmd:"" help:"Write protocols in their canonical layout."`
	Graph    graphCommand    `cmd:"" help:"Draw a protocol, or one way to enact it."`
	LSP      lspCommand      `cmd:"" name:"lsp" help:"Serve an editor: diagnostics, hover, completion, rename and more."`
	Simulate simulateCommand `cmd:"" help:"Enact a protocol at random."`
	Play     playCommand     `cmd:"" help:"Sit at the table: enact a protocol by hand."`
	Demo     demoCommand     `cmd:"" help:"Buy at a small shop on this machine, and show how it goes."`
	Buy      buyCommand      `cmd:"" help:"Buy at a remote UCP shop."`
	Acc      accCommand      `cmd:"" help:"Review agent capability contracts, and show what they mean."`

	Approvals approvalsCommand `cmd:"" help:"Agree to calls that wait for somebody, or refuse them."`
	Audit     auditCommand     `cmd:"" help:"Print what bridges did and did not do."`

	systemCommands
}

// commonFlags are understood with every command.
type commonFlags struct {
	Version kong.VersionFlag `help:"Print the version and exit."`
}

// streams are where a command reads and writes. Answers go to out, everything else to err.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// The exit codes of every command.
const (
	exitFine     = 0
	exitNo       = 1
	exitWrongUse = 2
)

// errNo is returned by a command whose answer is no and has been printed.
var errNo = errors.New("the answer is no")

// errSaid is returned by a command that could not do all that it was asked for, and has said so.
var errSaid = errors.New("said before")

// run is the whole program but for the exit.
func run(arguments []string, in io.Reader, out, err io.Writer) (code int) {
	// kong ends the process after help and version; this ends the run only.
	type exit int
	defer func() {
		switch r := recover().(type) {
		case nil:
		case exit:
			code = int(r)
		default:
			panic(r)
		}
	}()
	// Interrupt and termination end what runs; a second one ends the process.
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	s := &streams{in: in, out: out, err: err}
	parser := newParser(
		arguments,
		kong.Writers(out, err),
		kong.Exit(func(code int) { panic(exit(code)) }),
		kong.Bind(s),
		kong.BindTo(ctx, (*context.Context)(nil)),
	)
	command, failure := parser.Parse(arguments)
	if failure != nil {
		fmt.Fprintf(err, "strabo: %v (see strabo --help)\n", failure)
		return exitWrongUse
	}
	return exitCode(command.Run(), err)
}

// newParser makes the reader of a command line. If it begins with a command, the reader knows that command only: to make
// the model of all takes longer than many a command runs.
func newParser(arguments []string, options ...kong.Option) *kong.Kong {
	var grammar any = &commandLine{}
	if len(arguments) > 0 {
		if command, ok := commandFields()[arguments[0]]; ok {
			grammar = &commonFlags{}
			options = append(options,
				kong.DynamicCommand(arguments[0], command.Tag.Get("help"), "", reflect.New(command.Type).Interface()))
		}
	}
	return kong.Must(grammar, append([]kong.Option{
		kong.Name("strabo"),
		kong.Description("A declarative protocol engine for the Langshaw language."),
		kong.Vars{"version": "strabo " + version(), "openHelp": openHelp, "approvalBucket": natsapproval.DefaultBucket},
		auditVariables(),
		kong.Help(printHelp),
		kong.ConfigureHelp(kong.HelpOptions{NoExpandSubcommands: true, WrapUpperBound: 100}),
	}, options...)...)
}

// commandFields gives the fields of commandLine that are commands, by their names on the command line.
func commandFields() map[string]reflect.StructField {
	named := map[string]reflect.StructField{}
	for _, field := range reflect.VisibleFields(reflect.TypeFor[commandLine]()) {
		if _, ok := field.Tag.Lookup("cmd"); !ok {
			continue
		}
		name, ok := field.Tag.Lookup("name")
		if !ok {
			name = strings.ToLower(field.Name)
		}
		named[name] = field
	}
	return named
}

func exitCode(failure error, err io.Writer) int {
	switch {
	case failure == nil:
		return exitFine
	case errors.Is(failure, errNo):
		return exitNo
	case errors.Is(failure, errSaid):
		return exitWrongUse
	case errors.Is(failure, syncserver.ErrNoKeys):
		fmt.Fprintf(err, "strabo: %v: give --keys, which is the file keys in the --store of whoever serves\n", failure)
		return exitWrongUse
	default:
		fmt.Fprintf(err, "strabo: %s\n", lines(failure))
		return exitWrongUse
	}
}

// lines gives what an error says, which may quote what comes from elsewhere, and may have several lines.
func lines(failure error) string {
	said := strings.Split(failure.Error(), "\n")
	for i, line := range said {
		said[i] = story.Printable(strings.ReplaceAll(line, "\t", "    "))
	}
	return strings.Join(said, "\n")
}

// printHelp ends the help of a command with its examples.
func printHelp(options kong.HelpOptions, parsed *kong.Context) error {
	if failure := kong.DefaultHelpPrinter(options, parsed); failure != nil {
		return failure
	}
	selected := parsed.Selected()
	if selected == nil {
		return nil
	}
	if command, ok := selected.Target.Addr().Interface().(interface{ examples() string }); ok {
		_, failure := fmt.Fprintf(parsed.Stdout, "\nExamples:\n%s", command.examples())
		return failure
	}
	return nil
}

// version is that of the module, or of the commit that the program was built from.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok || info.Main.Version == "" {
		return "(devel)"
	}
	return info.Main.Version
}
