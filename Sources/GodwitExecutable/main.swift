import GodwitTool

await GodwitTool.run()
