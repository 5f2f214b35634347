import Foundation
import HTTP
import JSON
import LocalLLM
import Wire

// OpenAI's stored conversations. `POST /v1/responses` with `conversation` reads one and adds to it.

/// `POST /v1/conversations`
@Sendable func createConversation(_ context: RequestContext, _ services: Services) throws -> Response {
    let fields =
        context.body.isEmpty ? ConversationFields() : try JSON.decode(ConversationFields.self, from: context.body)
    let body = try fields.validated(seesImages: services.seesImages)
    let conversation = StoredConversation(
        id: .unique("conv_"), createdAt: Int(Date().timeIntervalSince1970), metadata: body.metadata ?? [:])
    try services.conversations.create(conversation, try body.newItems, client: context.client)
    return try .json(conversation)
}

/// `GET /v1/conversations/{id}`
@Sendable func showConversation(_ context: RequestContext, _ services: Services) throws -> Response {
    try .json(try storedConversation(context.parameter("id"), services).conversation)
}

/// `POST /v1/conversations/{id}`: replaces the metadata.
@Sendable func updateConversation(_ context: RequestContext, _ services: Services) throws -> Response {
    var conversation = try storedConversation(context.parameter("id"), services).conversation
    let body = try JSON.decode(ConversationFields.self, from: context.body)
        .validated(needs: "metadata", seesImages: services.seesImages)
    conversation.metadata = body.metadata ?? [:]
    try services.conversations.update(conversation)
    return try .json(conversation)
}

/// `DELETE /v1/conversations/{id}`
@Sendable func deleteConversation(_ context: RequestContext, _ services: Services) throws -> Response {
    let id = try storedConversation(context.parameter("id"), services).id
    try services.conversations.remove(id)
    return try .json(ConversationDeletion(id: id))
}

/// `POST /v1/conversations/{id}/items`
@Sendable func addConversationItems(_ context: RequestContext, _ services: Services) throws -> Response {
    let id = try storedConversation(context.parameter("id"), services).id
    let items = try JSON.decode(ConversationFields.self, from: context.body)
        .validated(needs: "items", seesImages: services.seesImages).newItems
    try services.conversations.append(items, to: id)
    guard let list = ItemList(items, id: \.id) else { throw conversationNotFound(id) }
    return try .json(list)
}

/// `GET /v1/conversations/{id}/items`
@Sendable func listConversationItems(_ context: RequestContext, _ services: Services) throws -> Response {
    let entry = try storedConversation(context.parameter("id"), services)
    return try .json(try context.page(of: entry.items, id: \.id))
}

/// `GET /v1/conversations/{id}/items/{item}`
@Sendable func showConversationItem(_ context: RequestContext, _ services: Services) throws -> Response {
    try .json(try storedItem(context, services).item)
}

/// `DELETE /v1/conversations/{id}/items/{item}`
@Sendable func deleteConversationItem(_ context: RequestContext, _ services: Services) throws -> Response {
    let (conversation, item) = try storedItem(context, services)
    try services.conversations.removeItem(item.id, of: conversation.id)
    return try .json(conversation)
}

func storedConversation(_ id: String, _ services: Services) throws(APIError) -> ConversationStore.Entry {
    guard let entry = services.conversations[id] else { throw conversationNotFound(id) }
    return entry
}

private func storedItem(
    _ context: RequestContext, _ services: Services
) throws(APIError) -> (conversation: StoredConversation, item: ConversationItem) {
    let entry = try storedConversation(context.parameter("id"), services)
    let id = context.parameter("item")
    guard let item = entry.items.first(where: { $0.id == id }) else {
        throw APIError(
            status: 404, kind: .invalidRequest,
            message: "Item with id '\(id)' not found in conversation '\(entry.id)'.",
            code: "not_found")
    }
    return (entry.conversation, item)
}

private func conversationNotFound(_ id: String) -> APIError {
    APIError(
        status: 404, kind: .invalidRequest,
        message: "Conversation with id '\(id)' not found. The server keeps only recent conversations.",
        code: "not_found")
}

extension ConversationFields {
    /// The items, each with an id.
    fileprivate var newItems: [ConversationItem] {
        get throws { try (items ?? []).map { try ConversationItem($0, id: String.unique) } }
    }
}
