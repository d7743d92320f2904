// Lists the models, asks one of them, has an answer streamed, and handles a refusal by its reason.
//
//	go run . [-grpc]
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"connectrpc.com/connect"
	gateway "example.com/model-gateway/examples/go/gen/modelgateway/v1"
	"example.com/model-gateway/examples/go/gen/modelgateway/v1/modelgatewayv1connect"
)

var model = fromEnv("GATEWAY_MODEL", "embedded-chat")

func main() {
	log.SetFlags(0)
	useGRPC := flag.Bool("grpc", false, "speak gRPC over HTTP/2 instead of Connect")
	flag.Parse()
	client := connectTo(fromEnv("GATEWAY_URL", "http://127.0.0.1:8080"), os.Getenv("GATEWAY_API_KEY"), *useGRPC)
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	for _, step := range []func(context.Context, modelgatewayv1connect.InferenceServiceClient) error{
		listModels, chat, streamChat, beRefused,
	} {
		if err := step(ctx, client); err != nil {
			log.Fatal(err)
		}
	}
}

func listModels(ctx context.Context, client modelgatewayv1connect.InferenceServiceClient) error {
	models, err := client.ListModels(ctx, &gateway.ListModelsRequest{})
	if err != nil {
		return err
	}
	var ids []string
	for _, one := range models.GetData() {
		ids = append(ids, one.GetId())
	}
	fmt.Println("models:", strings.Join(ids, ", "))
	return nil
}

func chat(ctx context.Context, client modelgatewayv1connect.InferenceServiceClient) error {
	// A deadline of its own, and the headers of the answer: among them, what it cost.
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	ctx, call := connect.NewClientContext(ctx)
	answer, err := client.CreateChatCompletion(ctx, asking("say: hello from Go"))
	if err != nil {
		return err
	}
	content := answer.GetChoices()[0].GetMessage().GetContent()
	fmt.Printf("answer: %s, at a cost of %s\n", content, call.ResponseHeader().Get("X-Gateway-Cost"))
	return nil
}

func streamChat(ctx context.Context, client modelgatewayv1connect.InferenceServiceClient) error {
	// Cancelling the context ends the work behind a stream that is left early.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	stream, err := client.StreamChatCompletion(ctx, asking("say: one two three"))
	if err != nil {
		return err
	}
	defer stream.Close()
	fmt.Print("stream: ")
	for stream.Receive() {
		for _, choice := range stream.Msg().GetChoices() {
			fmt.Print(choice.GetDelta().GetContent())
		}
	}
	fmt.Println()
	return stream.Err()
}

func beRefused(ctx context.Context, client modelgatewayv1connect.InferenceServiceClient) error {
	tooHot := asking("hello")
	tooHot.Temperature = new(float64(9))
	_, err := patiently(ctx, func() (*gateway.ChatCompletion, error) { return client.CreateChatCompletion(ctx, tooHot) })
	refusal := refusalOf(err)
	if refusal == nil { // An answer, a broken connection, or a deadline that passed.
		return err
	}
	switch refusal.GetReason() {
	case gateway.Reason_REASON_INSUFFICIENT_CREDIT:
		return fmt.Errorf("recharge the account: %w", err)
	default:
		reason := strings.TrimPrefix(refusal.GetReason().String(), "REASON_")
		fmt.Printf("refused: %s of %s: %v\n", reason, refusal.GetParam(), err)
		return nil
	}
}

// refusalOf returns the gateway's reason in an error; nil for every error that is no refusal.
func refusalOf(err error) *gateway.ErrorDetail {
	var failed *connect.Error
	if !errors.As(err, &failed) {
		return nil
	}
	for _, detail := range failed.Details() {
		value, err := detail.Value()
		if refusal, ok := value.(*gateway.ErrorDetail); err == nil && ok {
			return refusal
		}
	}
	return nil
}

// patiently makes a call up to three times, where the gateway says when to come back: then nothing was charged.
func patiently[T any](ctx context.Context, call func() (T, error)) (T, error) {
	for attempt := 1; ; attempt++ {
		answer, err := call()
		var failed *connect.Error
		if attempt == 3 || refusalOf(err) == nil || !errors.As(err, &failed) {
			return answer, err
		}
		seconds, unreadable := strconv.Atoi(failed.Meta().Get("Retry-After"))
		if unreadable != nil || failed.Meta().Get("X-Should-Retry") == "false" {
			return answer, err
		}
		select {
		case <-time.After(time.Duration(seconds) * time.Second):
		case <-ctx.Done():
			return answer, err
		}
	}
}

func asking(text string) *gateway.CreateChatCompletionRequest {
	content := &gateway.ChatMessage_Text{Text: text}
	messages := []*gateway.ChatMessage{{Role: gateway.Role_ROLE_USER.Enum(), Content: content}}
	return &gateway.CreateChatCompletionRequest{Model: &model, Messages: messages}
}

// connectTo returns a client that sends the key with each call. gRPC without TLS needs HTTP/2 from the first byte on.
func connectTo(address, key string, useGRPC bool) modelgatewayv1connect.InferenceServiceClient {
	transport := http.DefaultTransport.(*http.Transport).Clone()
	var options []connect.ClientOption
	if useGRPC {
		options = append(options, connect.WithGRPC())
		transport.Protocols = new(http.Protocols)
		transport.Protocols.SetHTTP2(true)
		transport.Protocols.SetUnencryptedHTTP2(true)
	}
	client := &http.Client{Transport: keySender{key, transport}}
	return modelgatewayv1connect.NewInferenceServiceClient(client, address, options...)
}

type keySender struct {
	key  string
	next http.RoundTripper
}

func (s keySender) RoundTrip(request *http.Request) (*http.Response, error) {
	request = request.Clone(request.Context())
	request.Header.Set("Authorization", "Bearer "+s.key)
	return s.next.RoundTrip(request)
}

func fromEnv(name, fallback string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return fallback
}
