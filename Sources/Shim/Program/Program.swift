import AppGateway
import Shim

/// The program `shim`: the server with the app protocols.
@main
enum Program {
    static func main() async { await Shim.main(.apps) }
}
