import LivePages

await SocketServer.run()
