import GodwitTool

await ServerCommand.runAndExit()
